"""A lending desk as its tool documentation and as a spec that a good model would write from it."""

OPENAPI = """\
openapi: 3.0.3
info: {title: Lending desk, version: 2024-01-01}
paths:
  /loans/{loanId}:
    parameters:
      - {name: loanId, in: path, required: true, description: Loan number, schema: {type: string}}
      - {name: X-Key, in: header, schema: {type: string}}
    get:
      operationId: getLoan
      summary: Read a loan
      responses:
        200: {description: The loan, content: {application/json: {schema: {$ref: '#/components/schemas/Loan'}}}}
        404: {description: No such loan}
    post:
      operationId: extendLoan
      summary: Extend a loan.
      description: Only once.
      requestBody:
        content:
          application/json:
            schema: {type: object, required: [days], properties: {days: {type: integer}, type: {type: string}}}
      responses: {'200': {description: Extended}, '409': {description: Reserved by another reader}}
    delete:
      summary: Refuse to extend.
components:
  schemas:
    Loan:
      type: object
      properties:
        id: {type: string}
        due: {type: string, format: date}
        next: {$ref: '#/components/schemas/Loan'}
"""

SPEC = """\
name: lending
about: A desk that extends loans.
tables:
  loans:
    row: loan
    prefix: L
    columns:
      reserved: {type: bool, draw: {one_of: [false]}}
      weeks: {type: int, draw: {between: [1, 5]}}
      result: {type: string, start: ""}
      days: {type: int, start: 0}
tools:
  get_loan:
    about: Read a loan.
    parameters: {loan_id: {key: loans, about: Loan number.}}
    returns: "string(loan.weeks) + ' weeks, ' + (loan.reserved ? 'reserved' : 'not reserved')"
    returns_about: Length, and whether somebody waits.
  extend_loan:
    about: Extend a loan.
    parameters:
      loan_id: {key: loans, about: Loan number.}
      days: {type: int, about: Days to add.}
    requires: [{that: loan.result == '', otherwise: "'decided before'"}]
    change: {loan.result: "'extended'", loan.days: days}
    decides: loan_id
    returns: "'extended'"
    returns_about: That it is done.
  delete_loans_loan_id:
    about: Refuse to extend.
    parameters: {loan_id: {key: loans, about: Loan number.}}
    requires: [{that: loan.result == '', otherwise: "'decided before'"}]
    change: {loan.result: "'refused'"}
    decides: loan_id
    returns: "'refused'"
    returns_about: That it is done.
procedure:
  text: Read the loan. Refuse when somebody waits; else extend by a day for each week.
  subject: loan
  steps:
    - call: get_loan
      arguments: {loan_id: loan.id}
      rules:
        - {name: reserved, when: loan.reserved, call: delete_loans_loan_id, arguments: {loan_id: loan.id}}
        - {name: extend, when: "true", call: extend_loan, arguments: {loan_id: loan.id, days: loan.weeks}}
cases:
  extend: {rule: extend}
  reserved: {rule: reserved, draw: {loan.reserved: {one_of: [true]}}}
templates:
  one: {root: loans, subjects: "[loan.id]", ask: loan}
ask:
  loan: {phrases: ["Loan {loan.id}, please.", "What about {loan.id}?", "Extend {loan.id} if you can."]}
"""

WRONG_COLUMN = SPEC.replace("string(loan.weeks)", "string(loan.week)")
"""Reads well, but an expression names a column that is not there."""
WRONG_CASE = SPEC.replace("{rule: reserved, draw: {loan.reserved: {one_of: [true]}}}", "{rule: reserved}")
"""Compiles, but a case does not make its rule decide."""
NO_EFFECT = SPEC.replace("""    change: {loan.result: "'extended'", loan.days: days}
""", "").replace("""    change: {loan.result: "'refused'"}
""", "")  # fmt: skip
"""Compiles, but the deciding tools change nothing."""
MANY = SPEC.replace("cases:\n", "cases:\n" + "".join(f"  case_{n}: {{rule: extend}}\n" for n in range(118))).replace(
    "templates:\n", "templates:\n  each: {root: loans, subjects: '[loan.id]', ask: loan, each_case: true}\n"
)
"""Compiles, but has more templates than anybody would review."""


def fenced(text: str) -> str:
    """As models answer."""
    return f"Here is the spec.\n\n```yaml\n{text}```\nTell me what to change."
