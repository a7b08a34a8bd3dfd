/** A container without Docker: own processes and network, a read-only root, no capabilities, and the user of the image. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ImageRoot, must } from './imageRoot.ts'

export interface Container {
  /** Process 1 of the container, by its number outside. */
  readonly pid: number
  readonly output: () => string
  readonly exited: Promise<number | null>
  /** Starts a command in the container, as its user. */
  exec(command: readonly string[]): ChildProcess
  /** The exit code of a command. */
  run(command: readonly string[]): number | null
}

export interface ContainerOptions {
  readonly command: readonly string[]
  /** Files to mount, by their paths in the container. */
  readonly files: Readonly<Record<string, string>>
  readonly env: Readonly<Record<string, string>>
}

export async function startContainer(image: ImageRoot, options: ContainerOptions): Promise<Container> {
  const { path } = image
  for (const [name, text] of Object.entries(options.files)) {
    must('mkdir', ['-p', join(path, name, '..')])
    writeFileSync(join(path, name), text)
  }
  must('mount', ['-o', 'remount,ro', path])
  const inside = asUser({ ...image, env: { ...image.env, ...options.env } })
  const child = spawn(
    'unshare',
    [
      '--net',
      '--pid',
      '--fork',
      '--kill-child',
      'chroot',
      path,
      'sh',
      '-c',
      START,
      'sh',
      ...inside,
      ...options.command,
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const exited = new Promise<number | null>((done) => child.once('exit', done))
  const pid = await untilDefined(() => childOf(child.pid))
  const enter = ['--target', String(pid), '--net', '--pid', 'chroot', path, ...inside]
  return {
    pid,
    output: () => output,
    exited,
    exec: (command) => spawn('nsenter', [...enter, ...command], { stdio: ['ignore', 'pipe', 'pipe'] }),
    run: (command) => spawnSync('nsenter', [...enter, ...command]).status,
  }
}

const START = 'mount -t proc proc /proc && ip link set lo up && exec "$@"'

function asUser({ user, env, folder }: ImageRoot): readonly string[] {
  const [uid = '', gid = ''] = user.split(':')
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  const limits = ['--bounding-set=-all', '--inh-caps=-all', '--no-new-privs']
  return [
    'setpriv',
    '--reuid',
    uid,
    '--regid',
    gid,
    '--clear-groups',
    ...limits,
    'env',
    '-i',
    '-C',
    folder,
    ...variables,
  ]
}

function childOf(pid: number | undefined): number | undefined {
  try {
    const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')
    return child ? Number(child) : undefined
  } catch {
    return undefined
  }
}

const PATIENCE_MS = 60_000

/** Looks until there is something. */
export async function untilDefined<T>(look: () => T | undefined): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const found = look()
    if (found !== undefined) return found
    if (performance.now() > deadline) throw new Error(`It took longer than ${PATIENCE_MS / 1000} s: ${look.toString()}`)
    await new Promise((done) => setTimeout(done, 50))
  }
}
