"""Answers of the linear domain model to the rows that the neural's training keeps out, by a model that did not see them:
its first view alone, which is nearly as good as the sum and a quarter of the time.

    python held_domain.py --data ../../shared/data --out FILE.npz
"""
import argparse
import hashlib
import pathlib

import numpy as np

import neural_domain
import train_domain


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--data", required=True, type=pathlib.Path)
    args.add_argument("--out", required=True, type=pathlib.Path)
    args = args.parse_args()
    train_domain.CHOICES["views"] = [dict(train_domain.CHOICES["views"][0], steps=25, share=1.0)]
    train_domain.CHOICES["rough"] = dict(train_domain.CHOICES["rough"], steps=8)
    train_domain.prepare(args.data)
    rows, _, held = neural_domain.load(args.data)   # the neural's own rows come last and are never held
    left, logits = train_domain.held_out(~np.array(held[:len(train_domain.STATE["rows"])]))
    np.savez(args.out, logits=logits, text=[hashlib.sha256(rows[i].text.encode()).hexdigest() for i in left])


if __name__ == "__main__":
    main()
