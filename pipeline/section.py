"""The base of every group of values in params.yaml, and the kinds of number that they are made of."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(gt=0)]
Count = Annotated[int, Field(ge=0)]
Rate = Annotated[float, Field(gt=0)]


class Section(BaseModel):
    """A frozen group of values; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")
