/**
 * Event ids: the sealed name of the stream, the event's number in it, and the question that its client still has to
 * answer.
 */
export interface EventPlace {
  readonly name: string
  readonly after: number
  /** The question that the client owed an answer to when it saw the event, where any instance can go on with the call from it. */
  readonly owed: string | undefined
}

const EVENT_ID = /^(?<name>[^:]*):(?<digits>\d{1,9})(?::(?<owed>\w{1,64}))?$/

export function eventId({ name, after, owed }: EventPlace): string {
  return `${name}:${after}${owed === undefined ? '' : `:${owed}`}`
}

/** Returns undefined if it is no event id. The sealed name identifies the stream's maker. */
export function readEventId(id: string): EventPlace | undefined {
  const { name, digits, owed } = EVENT_ID.exec(id)?.groups ?? {}
  return name === undefined ? undefined : { name, after: Number(digits), owed }
}
