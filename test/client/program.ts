/** The real program, as a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { KEYS } from '../interop/instances.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

export interface Given {
  readonly env?: Readonly<Record<string, string>>
  /** What it is given on its standard input; null leaves that open. */
  readonly input?: string | null
  readonly cwd?: string
}

export interface Ran {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Running {
  readonly child: ChildProcess
  readonly ended: Promise<Ran>
}

/** Starts it without a terminal; servers that it starts share the keys of the tests. */
export function startPannier(args: readonly string[], { env = {}, input = '', cwd }: Given = {}): Running {
  const { FORCE_COLOR: _, ...inherited } = process.env
  const child = spawn(process.execPath, ['--conditions=pannier-source', main, ...args], {
    cwd,
    env: {
      ...inherited,
      PANNIER_KEYS: KEYS,
      PANNIER_LOG_LEVEL: 'silent',
      ...env,
    },
    stdio: 'pipe',
  })
  child.stdin.on('error', () => undefined) // it need not read it
  if (input !== null) child.stdin.end(input)
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const texts = Promise.all([buffer(child.stdout), buffer(child.stderr), ended])
  return {
    child,
    ended: texts.then(([stdout, stderr, status]) => ({ status, stdout: String(stdout), stderr: String(stderr) })),
  }
}

export function pannier(args: readonly string[], given?: Given): Promise<Ran> {
  return startPannier(args, given).ended
}
