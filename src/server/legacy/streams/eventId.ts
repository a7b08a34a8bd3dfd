/**
 * Event ids: the sealed name of the stream, the number of the event, and the question that the client still has to
 * answer.
 */
export interface EventPlace {
  readonly name: string
  readonly after: number
  /**
   * The question that the client had to answer at this event, if any instance could resume the call from that answer.
   */
  readonly owed: string | undefined
}

const EVENT_ID = /^(?<name>[^:]*):(?<digits>\d{1,9})(?::(?<owed>\w{1,64}))?$/

export function eventId({ name, after, owed }: EventPlace): string {
  return `${name}:${after}${owed === undefined ? '' : `:${owed}`}`
}

/** Returns undefined if it is no event id. The sealed name identifies the server that issued it. */
export function readEventId(id: string): EventPlace | undefined {
  const { name, digits, owed } = EVENT_ID.exec(id)?.groups ?? {}
  return name === undefined ? undefined : { name, after: Number(digits), owed }
}
