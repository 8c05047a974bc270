"""Documents made up from the types of the official clients: a value for every member that a type has, each string and number
found nowhere else, so that a test sees what became of it. New members and kinds of a new version of a client come by
themselves."""
import itertools
import types
import typing

import pydantic
import typing_extensions

TYPED_DICTS = (typing_extensions.is_typeddict, typing.is_typeddict)
COUNT = itertools.count(70001)


def origin_and_args(hint):
    return typing_extensions.get_origin(hint), typing_extensions.get_args(hint)


def bare(hint):
    """Without Annotated, Required, NotRequired and aliases."""
    while True:
        origin, args = origin_and_args(hint)
        if origin in (typing.Annotated, typing_extensions.Required, typing_extensions.NotRequired, typing.Required, typing.NotRequired):
            hint = args[0]
        elif hasattr(hint, "__value__"):
            hint = hint.__value__
        else:
            return hint


def is_union(hint):
    return origin_and_args(hint)[0] in (typing.Union, types.UnionType)


def kinds(hint):
    """The members of a union, of unions in it too."""
    hint = bare(hint)
    if not is_union(hint):
        return [hint]
    return [kind for arg in origin_and_args(hint)[1] for kind in kinds(arg) if kind is not type(None)]


def is_record(hint):
    return any(check(hint) for check in TYPED_DICTS) or (isinstance(hint, type) and issubclass(hint, pydantic.BaseModel))


def fields(record):
    """The members of a record, by the names that they have in JSON."""
    if isinstance(record, type) and issubclass(record, pydantic.BaseModel):
        return {(field.alias or name): field.annotation for name, field in record.model_fields.items()}
    return {name: hint for name, hint in typing_extensions.get_type_hints(record, include_extras=True).items()}


def word_of(record):
    """The value of the member `type`; None: it has none."""
    hint = bare(fields(record).get("type", str))
    words = [a for kind in kinds(hint) for a in (origin_and_args(kind)[1] if origin_and_args(kind)[0] is typing.Literal else ())]
    return words[0] if words else None


def made(hint, depth=0):
    """A value of this type. Of a union its largest record, else its first kind."""
    hint = bare(hint)
    origin, args = origin_and_args(hint)
    if is_union(hint):
        options = kinds(hint)
        records = [k for k in options if is_record(k)]
        lists = [k for k in options if origin_and_args(k)[0] in (list, typing.List) or "Iterable" in str(k) or "Sequence" in str(k)]
        return made(max(records, key=lambda r: len(fields(r))) if records else lists[0] if lists else options[0], depth)
    if origin is typing.Literal:
        return args[-1]
    if is_record(hint):
        return record(hint, depth)
    if origin is dict or hint is dict or "Mapping" in str(origin):
        return {f"key{next(COUNT)}": f"value{next(COUNT)}"}
    if origin is not None and args and (origin is list or "Iterable" in str(origin) or "Sequence" in str(origin)):
        return [made(args[0], depth)]
    if hint is bool:
        return True
    if hint in (int, float):
        return next(COUNT)
    if hint is type(None):
        return None
    return f"said{next(COUNT)}"


def record(hint, depth=0):
    if depth > 5:
        return {}
    value = {name: made(of, depth + 1) for name, of in fields(hint).items()}
    word = word_of(hint)
    return value | {"type": word} if word else value


def leaves(value, path=()):
    """(path, value) of each string and number that was made up."""
    if isinstance(value, dict):
        for key, inside in value.items():
            yield from leaves(inside, (*path, key))
    elif isinstance(value, list):
        for inside in value:
            yield from leaves(inside, path)
    elif (isinstance(value, str) and any(value.startswith(w) for w in ("said", "value"))) or (isinstance(value, int) and value > 70000):
        yield path, value
