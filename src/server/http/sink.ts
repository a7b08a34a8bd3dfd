/** Where a host lets a streamed answer go. */
export interface Sink {
  /** Starts the answer. */
  open(headers: Readonly<Record<string, string>>): void
  write(text: string): void
  end(): void
  /** Told once when the client has gone before `end`. */
  onGone(listener: () => void): void
  readonly gone: boolean
}
