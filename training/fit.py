"""Softmax regression over sparse presence features, and the figures that judge probabilities."""
import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize, minimize_scalar

from data import LABELS


def vocabulary(keys, least):
    """Sorted keys that occur in at least `least` of the texts."""
    found, count = np.unique(np.concatenate(keys), return_counts=True)
    return found[count >= least]


def presence(keys, vocab):
    """CSR matrix [texts, vocabulary] of ones."""
    columns, ends = [], [0]
    for k in keys:
        at = np.searchsorted(vocab, k)
        at[at == len(vocab)] = 0
        columns.append(at[vocab[at] == k])
        ends.append(ends[-1] + len(columns[-1]))
    columns = np.concatenate(columns).astype(np.int32)
    return sp.csr_matrix((np.ones(len(columns), np.float32), columns, np.array(ends)), (len(keys), len(vocab)))


def rarity(x, power):
    """Scale of each column: its inverse document frequency to a power (rare n-grams are regularised less)."""
    df = np.asarray(x.sum(0)).ravel()
    return ((np.log((1 + x.shape[0]) / (1 + df)) + 1) ** power).astype(np.float32)


def telling(x, y, power, prior=4.0):
    """Scale of each column: how far the labels of the texts that have the n-gram are from the labels of all texts
    (Kullback-Leibler, with `prior` texts of the overall mixture added), to a power."""
    share = np.bincount(y, minlength=len(LABELS)) / len(y)
    counts = np.asarray((x.T @ np.eye(len(LABELS), dtype=np.float32)[y]), np.float64) + prior * share
    p = counts / counts.sum(1, keepdims=True)
    distance = (p * np.log(p / share)).sum(1)
    return ((distance / distance.mean()) ** power).astype(np.float32)


def scaled(x, column_scale, damping):
    """Rows over the root of their number of n-grams, columns times `column_scale`."""
    n = np.maximum(np.asarray(x.sum(1)).ravel(), 1)
    y = x.copy()
    y.data = column_scale[x.indices]
    return (sp.diags((1 / np.sqrt(n + damping)).astype(np.float32)) @ y).tocsr()


def softmax_regression(x, y, weight, penalty, steps, smoothing=0.0):
    """Weights [features, labels] and bias by L-BFGS; mean log loss plus penalty / 2 * |w|^2."""
    features, labels = x.shape[1], len(LABELS)
    xt = x.T.tocsr()
    target = np.full((len(y), labels), smoothing / labels, np.float32)
    target[np.arange(len(y)), y] += 1 - smoothing
    share = (weight / weight.sum()).astype(np.float32)

    def loss(v):
        w = v[:features * labels].reshape(features, labels).astype(np.float32)
        z = x @ w + v[features * labels:].astype(np.float32)
        top = z.max(1, keepdims=True)
        e = np.exp(z - top)
        total = e.sum(1, keepdims=True)
        value = float((share * (np.log(total)[:, 0] + top[:, 0] - (target * z).sum(1))).sum())
        rest = (e / total - target) * share[:, None]
        value += 0.5 * penalty * float(np.einsum("ij,ij->", w, w, dtype=np.float64))
        return value, np.concatenate([(xt @ rest + penalty * w).ravel(), rest.sum(0)]).astype(np.float64)

    start = np.zeros(features * labels + labels)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": steps, "maxcor": 6}).x
    return found[:-labels].reshape(features, labels).astype(np.float32), found[-labels:]


def probabilities(logits, temperature):
    z = np.asarray(logits, np.float64) / temperature
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def fit_temperature(logits, y):
    """The temperature of least log loss (Guo et al. 2017, section 4.2)."""
    def loss(log_t):
        return -np.log(probabilities(logits, np.exp(log_t))[np.arange(len(y)), y] + 1e-12).mean()
    return float(np.exp(minimize_scalar(loss, bounds=(-3, 3), method="bounded").x))


def calibration_error(p, y, bins=15):
    """Expected calibration error of the top label, equal-width bins."""
    confidence, right = p.max(1), p.argmax(1) == y
    bin_of = np.minimum((confidence * bins).astype(int), bins - 1)
    return float(sum(abs(right[bin_of == b].mean() - confidence[bin_of == b].mean()) * (bin_of == b).mean()
                     for b in range(bins) if (bin_of == b).any()))
