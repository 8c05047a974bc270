"""Official clients against semroute: what the client returns equals what it gets from the upstream itself."""
import client_cases as cases
import pytest
from client_cases import Place, plain


@pytest.fixture
def mock(start):
    return start.mock(workers=1)


@pytest.mark.parametrize("case", cases.CHAT + cases.RESPONSES + cases.MESSAGES, ids=lambda case: case.__name__)
def test_the_mock_speaks_as_clients_expect(mock, case):
    place = Place(mock.port)
    told = plain(case(place, "m"))
    assert told and (told == plain(case(place, "m")))
    place.close()
