/** The ids of events: the sealed name of the stream, the event's number there, and what its client owes. */
export interface EventPlace {
  readonly name: string
  readonly after: number
  /** Whether the client, when it saw the event, owed an answer from which any instance can go on with the call. */
  readonly isRevivable: boolean
}

const REVIVABLE = ':r'
const EVENT_ID = /^(?<name>[^:]*):(?<digits>\d{1,9})(?<mark>:r)?$/

export function eventId({ name, after, isRevivable }: EventPlace): string {
  return `${name}:${after}${isRevivable ? REVIVABLE : ''}`
}

/** Undefined where it is none. Who made the stream, its sealed name tells. */
export function readEventId(id: string): EventPlace | undefined {
  const { name, digits, mark } = EVENT_ID.exec(id)?.groups ?? {}
  return name === undefined ? undefined : { name, after: Number(digits), isRevivable: mark !== undefined }
}
