const BREAK = '\n\n'

/** Finds events in the chunks of a stream. Each character is looked at once, however many chunks an event has. */
export class EventSplitter {
  /** The beginning of an event that has not ended. */
  #parts: string[] = []
  #endsInBreak = false

  /** The events that this chunk ends. */
  take(chunk: string): readonly string[] {
    const events: string[] = []
    let start = 0
    if (this.#endsInBreak && chunk.startsWith('\n')) {
      events.push(this.#ended('').slice(0, -1))
      start = 1
    }
    for (let end = chunk.indexOf(BREAK, start); end >= 0; end = chunk.indexOf(BREAK, start)) {
      events.push(this.#ended(chunk.slice(start, end)))
      start = end + BREAK.length
    }
    if (start < chunk.length) this.#parts.push(chunk.slice(start))
    if (chunk !== '') this.#endsInBreak = start < chunk.length && chunk.endsWith('\n')
    return events
  }

  #ended(last: string): string {
    const event = [...this.#parts, last].join('')
    this.#parts = []
    return event
  }
}
