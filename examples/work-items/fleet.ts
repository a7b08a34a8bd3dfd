/** Starts instances as child processes, and ends all of them with the demo. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { newKey } from 'pannier/state'

export interface Launch {
  readonly name: string
  /** The file to run. It sends `{ url }` to its parent process once it listens. */
  readonly program: string
  readonly env: Readonly<Record<string, string>>
  /** How long it may take until it listens, in milliseconds. @default 20000 */
  readonly startMs?: number
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface Instance {
  readonly name: string
  readonly url: string
  readonly child: ChildProcess
  readonly exited: Promise<Exit>
  /** Sends the signal and waits until the process has ended. */
  end(signal: NodeJS.Signals): Promise<Exit>
  /** What it wrote to standard error. */
  errors(): string
}

const running = new Set<ChildProcess>()

/** Resolves once the instance listens; rejects with a sentence that says why it does not. */
export async function startInstance({ name, program, env, startMs = 20_000 }: Launch): Promise<Instance> {
  const child = spawn(process.execPath, ['--conditions=pannier-source', program], {
    env: { ...process.env, PANNIER_LOG_LEVEL: 'warn', INSTANCE: name, ...env },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  running.add(child)
  child.on('error', () => {}) // addressOf reports it
  let errors = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-8192)
  })
  const exited = new Promise<Exit>((resolve) => {
    child.once('close', (code, signal) => {
      running.delete(child)
      resolve({ code, signal })
    })
  })
  const url = await Promise.race([
    addressOf(child, name, startMs),
    exited.then((exit) => Promise.reject(new Error(`Instance ${name} did not start: ${howItEnded(exit, errors)}`))),
  ])
  return {
    name,
    url,
    child,
    exited,
    end(signal) {
      child.kill(signal)
      return exited
    },
    errors: () => errors,
  }
}

/** Starts an instance of the program for each name. They share a key. */
export async function startInstances<const Names extends readonly string[]>(
  names: Names,
  program: URL,
  envOf: (name: string) => Readonly<Record<string, string>> = () => ({}),
): Promise<{ [Index in keyof Names]: Instance }> {
  const keys = newKey()
  const start = (name: string): Promise<Instance> =>
    startInstance({ name, program: fileURLToPath(program), env: { PANNIER_KEYS: keys, ...envOf(name) } })
  const instances = await Promise.all(names.map(start))
  return instances as { [Index in keyof Names]: Instance }
}

/** Ends every instance at once, also those still starting. */
export function stopAll(): void {
  for (const child of running) child.kill('SIGKILL')
}

export function howItEnded({ code, signal }: Exit, errors: string): string {
  const lines = errors.trim().split('\n')
  const said = lines.find((line) => /^\w*Error\b/.test(line)) ?? lines.at(-1)
  const how = signal === null ? `it exited with code ${code}` : `it was ended by ${signal}`
  return said ? `${how}. It said: ${said}` : `${how}.`
}

async function addressOf(child: ChildProcess, name: string, startMs: number): Promise<string> {
  try {
    const [said] = (await once(child, 'message', { signal: AbortSignal.timeout(startMs) })) as [{ url: string }]
    return said.url
  } catch (error) {
    child.kill('SIGKILL')
    const late = (error as Error).name === 'AbortError'
    const why = late ? `it sent no address within ${startMs / 1000} s.` : (error as Error).message
    throw new Error(`Instance ${name} did not start: ${why}`, { cause: error })
  }
}
