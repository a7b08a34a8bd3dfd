/** One run of the program: its process, and what that reports. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isRunReport, RUN_VARIABLE, type RunSettings } from './reports.ts'

export interface DevRunOptions extends RunSettings {
  /** An absolute path. */
  readonly program: string
  /** The folder in which it runs, with its `.env`. */
  readonly folder: string
  /** The address of the run before, to which this one introduces itself: it takes over calls that wait there. */
  readonly before: string | undefined
  /** Whether standard output belongs to the protocol. */
  readonly isQuiet: boolean
  readonly onFile: (path: string) => void
}

export type RunEnd = 'portInUse' | 'noServer' | 'failed'

export interface DevRun {
  /** The address of the server; undefined once the process has ended. */
  readonly url: string | undefined
  /** The address when the program serves, or how it ended without that. */
  readonly started: Promise<{ readonly url: string } | { readonly ended: RunEnd }>
  readonly ended: Promise<unknown>
  /** Lets calls finish, or move to the next run. */
  stop(): void
  kill(): void
}

/** The program that runs the server. The build joins files, so the folder of a built one says nothing. */
function runner(): string {
  if (import.meta.url.endsWith('.ts')) return fileURLToPath(new URL('./runner.ts', import.meta.url))
  return fileURLToPath(new URL('dist/cli/dev/runner.js', import.meta.resolve('pannier/package.json')))
}

export async function startRun({
  program,
  folder,
  before,
  isQuiet,
  onFile,
  ...settings
}: DevRunOptions): Promise<DevRun> {
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    ...(before !== undefined && { PANNIER_PEERS: process.env['PANNIER_PEERS'] ?? before }),
    PORT: String(await freePort()),
    [RUN_VARIABLE]: JSON.stringify(settings),
  }
  const envFile = existsSync(join(folder, '.env')) ? ['--env-file=.env'] : []
  const child = spawn(process.execPath, [...process.execArgv, ...envFile, runner(), program], {
    cwd: folder,
    env,
    stdio: ['ignore', isQuiet ? process.stderr : 'inherit', 'inherit', 'ipc'],
  })
  return watchRun(child, onFile)
}

function watchRun(child: ChildProcess, onFile: (path: string) => void): DevRun {
  let url: string | undefined
  let end: RunEnd = 'failed'
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const started = new Promise<Awaited<DevRun['started']>>((resolve) => {
    child.on('message', (report) => {
      if (!isRunReport(report)) return // the program may send messages, too
      switch (report.kind) {
        case 'file':
          return onFile(report.path)
        case 'listens':
          url = report.url
          return resolve({ url })
        default:
          end = report.kind
      }
    })
    void ended.then(() => resolve({ ended: end }))
  })
  void ended.then(() => (url = undefined))
  return {
    get url() {
      return url
    },
    started,
    ended,
    stop: () => void child.kill('SIGTERM'),
    kill: () => void child.kill('SIGKILL'),
  }
}

/** For programs of other libraries, which read PORT; some of them take 0 for an unset variable. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}
