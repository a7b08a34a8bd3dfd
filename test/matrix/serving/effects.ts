/** What a server of the matrix does to the world: lines in files, which its other processes and the matrix read. */
import { appendFileSync, existsSync, readFileSync, watch, writeFileSync } from 'node:fs'

const file = process.env['EFFECTS'] ?? '/dev/null'
const changes = `${file}.changes`

/** Written before the tool goes on, so that a process that is killed has left it. */
export function write(what: string, key: string): void {
  appendFileSync(file, `${what} ${key} ${process.pid}\n`)
}

/** `list`: a tool is described in another way. Any other is the address of a resource that gets new content. */
export function change(what: string): void {
  appendFileSync(changes, `${what}\n`)
}

/** Tells of each change, whichever process made it, as a server does that watches files or a database. */
export function onChange(tell: (what: string) => void): void {
  if (!existsSync(changes)) writeFileSync(changes, '', { flag: 'a' })
  let read = readFileSync(changes, 'utf8').length
  watch(changes, () => {
    const text = readFileSync(changes, 'utf8')
    const news = text.slice(read).split('\n').slice(0, -1)
    read += news.reduce((sum, line) => sum + line.length + 1, 0)
    for (const what of news) tell(what)
  })
}

/** What one of the tools says of itself: something else after each change of the list. */
export function changingDescription(): string {
  const lines = existsSync(changes) ? readFileSync(changes, 'utf8').split('\n') : []
  return `changed ${lines.filter((line) => line === 'list').length} times`
}

const WAITS_MS = 15_000

/** What a tool does that waits until its caller gives up. In the session era a client that is gone has not said so. */
export async function waitForCancel(key: string, signal: AbortSignal): Promise<void> {
  write('began', key)
  const timer = AbortSignal.timeout(WAITS_MS)
  await new Promise<void>((resolve) =>
    AbortSignal.any([signal, timer]).addEventListener('abort', () => resolve(), { once: true }),
  )
  if (signal.aborted) write('cancelled', key)
}
