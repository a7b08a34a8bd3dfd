/** Servers are read in slices of time, so that a flood of small messages leaves time for everything else. */
const SLICE_MS = 10

/** Where chunks come from. */
export interface Pausable {
  pause(): unknown
  resume(): unknown
}

/** How long reading from all servers has taken since the event loop turned. */
let spentMs = 0
let isCounting = false

/** Reads a chunk. The next one of this source comes after the event loop has turned, where reading took long. */
export function readPaced(source: Pausable | undefined, read: () => void): void {
  const startedAt = performance.now()
  read()
  spentMs += performance.now() - startedAt
  if (!isCounting) {
    isCounting = true
    setImmediate(startAgain)
  }
  if (spentMs < SLICE_MS || source === undefined) return
  source.pause()
  setImmediate(() => source.resume())
}

function startAgain(): void {
  spentMs = 0
  isCounting = false
}
