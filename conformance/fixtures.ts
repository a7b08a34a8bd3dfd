/** Processes of the fixture that are one server: same keys, and each hears what the others publish. */
import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { newKey } from 'pannier/state'
import { startProcess } from './children.ts'

export interface Fixtures {
  /** The endpoint of each process. */
  readonly urls: readonly string[]
  stop(): void
}

const program = join(import.meta.dirname, 'serve.ts')

export async function startFixtures(count: number, more: Record<string, string> = {}): Promise<Fixtures> {
  const env = { PANNIER_KEYS: newKey(), PANNIER_LOG_LEVEL: 'warn', ...more }
  const siblings = Array.from({ length: count }, () => startProcess(program, env))
  const urls = await Promise.all(siblings.map(listening))
  for (const sender of siblings) {
    sender.on('message', (event: object) => {
      for (const sibling of siblings) if (sibling !== sender && sibling.connected) sibling.send(event)
    })
  }
  return {
    urls,
    stop: () => {
      for (const sibling of siblings) sibling.kill('SIGKILL')
    },
  }
}

function listening(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.on('message', (message: { kind: string; url: string }) => {
      if (message.kind === 'listening') resolve(message.url)
    })
    child.once('exit', (code) => reject(new Error(`The fixture ended with ${code} before it listened.`)))
  })
}
