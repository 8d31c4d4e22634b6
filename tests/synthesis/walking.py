"""A helpdesk whose calls can be asked for outright: tickets of a user, comments on tickets, replacement parts."""

SPEC = """\
name: helpdesk
about: A helpdesk.
tables:
  users:
    row: user
    prefix: U
    columns:
      ticket: {type: ref, ref: {table: tickets}}
      locked: {type: bool, draw: {one_of: [true, false]}}
      settled: {type: string, start: ""}
  tickets:
    row: ticket
    prefix: T
    columns:
      device: {type: ref, ref: {table: devices}}
      state: {type: string, draw: {one_of: [open]}}
      urgency: {type: int, start: 0}
      answer: {type: string, start: ""}
  devices:
    row: device
    prefix: D
    columns:
      wiped: {type: bool, start: false}
  orders:
    row: order
    prefix: O
    columns:
      device: {type: string, start: ""}
      part: {type: string, start: ""}
      sent: {type: bool, start: false}
tools:
  show_user:
    about: Look a user up.
    parameters: {user_id: {key: users, about: User.}}
    intent: look up user {user_id}
    returns: "'ticket ' + user.ticket"
    returns_about: The user's ticket.
  show_ticket:
    about: Read a ticket.
    parameters: {ticket_id: {key: tickets, about: Ticket.}}
    intent: read the ticket {ticket_id}
    returns: "ticket.state + ', about ' + ticket.device"
    returns_about: State and device.
  unlock:
    about: Unlock a user.
    parameters: {user_id: {key: users, about: User.}}
    requires: [{that: user.locked, otherwise: "'not locked'"}]
    change: {user.locked: "false"}
    intent: unlock user {user_id}
    returns: "'done'"
    returns_about: Confirmation.
  set_urgency:
    about: Say how urgent a ticket is.
    parameters:
      ticket_id: {key: tickets, about: Ticket.}
      urgency: {type: int, about: From 1 to 5.}
    change: {ticket.urgency: urgency}
    intent: set the urgency of ticket {ticket_id} to {urgency}
    returns: "'done'"
    returns_about: Confirmation.
  close:
    about: Close a ticket.
    parameters:
      ticket_id: {key: tickets, about: Ticket.}
      answer: {enum: [solved, refused], about: How it ended.}
    requires: [{that: ticket.state == 'open', otherwise: "'closed before'"}]
    change: {ticket.state: "'closed'", ticket.answer: answer}
    decides: ticket_id
    report: closed
    intent: close ticket {ticket_id} as {answer}
    returns: "'done'"
    returns_about: Confirmation.
  wipe:
    about: Wipe a device.
    parameters: {device_id: {key: devices, about: Device.}}
    change: {device.wiped: "true"}
    intent: wipe device {device_id}
    returns: "'done'"
    returns_about: Confirmation.
  decide:
    about: Settle what a user needs.
    parameters: {user_id: {key: users, about: User.}}
    requires: [{that: user.settled == '', otherwise: "'settled before'"}]
    change: {user.settled: "'yes'"}
    decides: user_id
    returns: "'done'"
    returns_about: Confirmation.
  order_part:
    about: Order a part for a device.
    parameters:
      device_id: {key: devices, about: Device.}
      part: {enum: [screen, battery], about: Part.}
    insert: {table: orders, id: "'O-' + device_id.substring(2)", row: {device: device.id, part: part}}
    intent: order a {part} for device {device_id}
    returns: "'order O-' + device_id.substring(2)"
    returns_about: The order.
  send:
    about: Send an order off.
    parameters: {order_id: {key: orders, about: Order.}}
    requires: [{that: "!order.sent", otherwise: "'sent before'"}]
    change: {order.sent: "true"}
    intent: send the order {order_id}
    returns: "'done'"
    returns_about: Confirmation.
procedure:
  text: You help. Do what is asked.
  subject: user
  closing: "Done: {decisions}."
  steps:
    - call: show_user
      arguments: {user_id: user.id}
      rules:
        - {name: close, when: "true", call: decide, arguments: {user_id: user.id}}
cases:
  any: {rule: close}
templates:
  one: {root: users, subjects: "[user.id]", ask: plain}
ask:
  plain: {phrases: ["{user.id} needs help.", "See to {user.id}."]}
walks:
  length: [1, 3]
  share: 0.5
  draw: {set_urgency.urgency: {between: [1, 5]}}
bystanders: 2
"""
