"""Linear models over sparse presence features, by logistic or squared hinge loss, and the figures that neural them."""
import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize_scalar


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


def rarity(x):
    """Inverse document frequency of each column; as a column's scale, it lets the penalty weigh less on rare n-grams."""
    df = np.asarray(x.sum(0)).ravel()
    return (np.log((1 + x.shape[0]) / (1 + df)) + 1).astype(np.float32)


def telling(x, y, power, prior=4.0):
    """Scale of each column: how far the labels of the texts that have the n-gram are from the labels of all texts
    (Kullback-Leibler, with `prior` texts of the overall mixture added), to a power."""
    if power == 0:
        return np.ones(x.shape[1], np.float32)
    labels = y.max() + 1
    share = np.bincount(y, minlength=labels) / len(y)
    counts = np.asarray((x.T @ np.eye(labels, dtype=np.float32)[y]), np.float64) + prior * share
    p = counts / counts.sum(1, keepdims=True)
    distance = (p * np.log(p / share)).sum(1)
    return ((distance / distance.mean()) ** power).astype(np.float32)


def scaled(x, column_scale, damping):
    """Rows over the root of their number of n-grams, columns times `column_scale`."""
    n = np.maximum(np.asarray(x.sum(1)).ravel(), 1)
    y = x.copy()
    y.data = column_scale[x.indices]
    return (sp.diags((1 / np.sqrt(n + damping)).astype(np.float32)) @ y).tocsr()


def log_loss(y, share):
    """The loss of softmax regression: logits -> (value, its derivative)."""
    target = np.eye(y.max() + 1)[y]

    def loss(z):
        top = z.max(1, keepdims=True)
        e = np.exp(z - top)
        total = e.sum(1, keepdims=True)
        value = float((share * (np.log(total)[:, 0] + top[:, 0] - (target * z).sum(1))).sum())
        return value, (e / total - target) * share[:, None]

    return loss


def squared_hinge(y, share):
    """The loss of a linear support vector machine, one label against the rest: logits -> (value, its derivative)."""
    sign = 2 * np.eye(y.max() + 1)[y] - 1

    def loss(z):
        short = np.maximum(0, 1 - sign * z)
        return float((share[:, None] * short * short).sum()), -2 * share[:, None] * short * sign

    return loss


LOSSES = {"log": log_loss, "hinge": squared_hinge}


class Direction:
    """A change of the model: `a` is [texts, labels], the weights are x' a, `z` is what they add to the logits."""

    def __init__(self, a, z, bias):
        self.a, self.z, self.bias = a, z, bias

    def dot(self, other):
        return float((self.a * other.z).sum() + self.bias @ other.bias)

    def plus(self, other, times=1.0):
        return Direction(self.a + times * other.a, self.z + times * other.z, self.bias + times * other.bias)

    def times(self, factor):
        return Direction(self.a * factor, self.z * factor, self.bias * factor)


def _descent(gradient, history):
    """L-BFGS's direction (two loops, Nocedal 1980, "Updating quasi-Newton matrices with limited storage")."""
    q, steps = gradient, []
    for s, y, sy in reversed(history):
        steps.append(s.dot(q) / sy)
        q = q.plus(y, -steps[-1])
    if history:
        s, y, sy = history[-1]
        q = q.times(sy / y.dot(y))
    for (s, y, sy), step in zip(history, reversed(steps)):
        q = q.plus(s, step - y.dot(q) / sy)
    return q.times(-1.0)


def _line_search(slope, first):
    """A step at which the slope is a tenth of what it is at 0: bracket, then secant."""
    start = slope(0.0)
    low, low_slope, high, high_slope, t = 0.0, start, None, None, first
    for _ in range(12):
        here = slope(t)
        if abs(here) < 0.1 * abs(start):
            break
        if here < 0:
            low, low_slope = t, here
        else:
            high, high_slope = t, here
        t = t * 2.5 if high is None else low - low_slope * (high - low) / (high_slope - low_slope)
    return t


def regression(x, y, weight, loss, penalty, steps, memory=8):
    """Weights [features, labels] and bias: mean loss plus penalty / 2 * |w|^2.

    There are far more features than texts, and the weights are always x' a for some a [texts, labels]. So L-BFGS runs
    on a, in the metric of x x', where its vectors are short; a step costs one product with x and one with x'.
    """
    xt = x.T.tocsr()
    labels = y.max() + 1
    loss = LOSSES[loss](y, weight / weight.sum())

    def direction(a, bias):
        return Direction(a, np.asarray(x @ (xt @ a.astype(np.float32)), np.float64), bias)

    def gradient(at):
        rest = loss(at.z + at.bias)[1]
        return direction(rest + penalty * at.a, rest.sum(0))

    zero = np.zeros((len(y), labels))
    at = Direction(zero, zero, np.zeros(labels))
    g, history = gradient(at), []
    for _ in range(steps):
        d = _descent(g, history)
        dz, along, bend = d.z + d.bias, float((at.a * d.z).sum()), float((d.a * d.z).sum())

        def slope(t):
            rest = loss(at.z + at.bias + t * dz)[1]
            return float((rest * dz).sum()) + penalty * (along + t * bend)

        step = d.times(_line_search(slope, 1.0 if history else g.dot(g) ** -0.5))
        at = at.plus(step)
        before, g = g, gradient(at)
        change = g.plus(before, -1.0)
        if step.dot(change) > 1e-12:
            history = (history + [(step, change, step.dot(change))])[-memory:]
    return xt @ at.a.astype(np.float32), at.bias


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
