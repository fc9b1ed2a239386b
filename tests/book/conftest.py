import dense as operators
import pytest


@pytest.fixture
def op(request):
    """The dense operators of the mechanism that the test is run on."""
    return operators.dense(request.param)
