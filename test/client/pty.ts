/** A real process on a real pseudo-terminal, with its standard output in a file: stdin and stderr are the terminal. */
import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { spawn } from '@lydell/node-pty'
import { root } from '../../scripts/repository.ts'

export const KEYS = {
  enter: '\r',
  down: '\u001b[B',
  up: '\u001b[A',
  space: ' ',
  ctrlC: '\u0003',
  escape: '\u001b',
  ctrlU: '\u0015',
} as const

export interface PtyOptions {
  readonly program: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** The file for standard output. */
  readonly out: string
  /** 0 for a terminal that does not know its size. */
  readonly cols?: number
}

export interface Pty {
  /** Everything that reached the terminal, as it came. */
  raw(): string
  /** The same without the escapes, so that its texts can be found. */
  shown(): string
  /** Waits until a text appears that was not waited for before. */
  see(text: string): Promise<void>
  press(...keys: readonly string[]): void
  /** Waits for the end, and gives what was written to standard output. */
  end(): Promise<{ exitCode: number; stdout: string }>
  kill(signal?: string): void
}

const PATIENCE_MS = 15_000

export function openPty({ program, args = [], env = {}, out, cols = 90 }: PtyOptions): Pty {
  const path = fileURLToPath(new URL(`programs/${program}`, import.meta.url))
  const node = [process.execPath, '--conditions=pannier-source', path, ...args]
  const { FORCE_COLOR: _, NO_COLOR: __, ...inherited } = process.env
  const sizing = cols === 0 ? 'stty cols 0 rows 0; ' : ''
  const pty = spawn('/bin/sh', ['-c', `${sizing}exec "$@" >"$STDOUT_FILE"`, 'sh', ...node], {
    cols: cols || 80,
    rows: 40,
    cwd: root,
    env: { ...inherited, ...env, STDOUT_FILE: out, LANG: 'C.UTF-8', TERM: 'xterm-256color' },
  })
  let raw = ''
  let seen = 0
  pty.onData((data) => (raw += data))
  const exit = new Promise<number>((resolve) => pty.onExit(({ exitCode }) => resolve(exitCode)))
  const shown = (): string => stripVTControlCharacters(raw)
  return {
    raw: () => raw,
    shown,
    async see(text) {
      const deadline = performance.now() + PATIENCE_MS
      for (;;) {
        const at = shown().indexOf(text, seen)
        if (at >= 0) {
          seen = at + text.length
          return
        }
        if (performance.now() > deadline) throw new Error(`"${text}" did not appear; the terminal has:\n${shown()}`)
        await setTimeout(10)
      }
    },
    press: (...keys) => keys.forEach((key) => pty.write(key)),
    async end() {
      const exitCode = await Promise.race([exit, setTimeout(PATIENCE_MS, -1, { ref: false })])
      if (exitCode === -1) throw new Error(`The program did not end; the terminal has:\n${shown()}`)
      return { exitCode, stdout: readFileSync(out, 'utf8') }
    },
    kill: (signal = 'SIGKILL') => pty.kill(signal),
  }
}
