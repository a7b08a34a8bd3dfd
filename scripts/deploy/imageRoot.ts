/**
 * The root of an image, made without Docker: the instructions of a Dockerfile run in chroots. The base image is this
 * machine's Debian with the Node of the repository, below an overlay that takes every change. Needs root.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { root as repository } from '../repository.ts'
import type { ImageStage, Instruction } from './dockerfile.ts'

export interface ImageRoot {
  /** Its path on this machine. */
  readonly path: string
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
  /** As `uid:gid`. */
  readonly user: string
}

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export function must(program: string, args: readonly string[]): void {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8' })
  if (status === 0) return
  throw new Error(`${program} ${args.join(' ')} failed. ${error?.message ?? ''}${stdout}${stderr}`.trim())
}

/** Builds all stages below a folder, and gives the root of the last one. */
export function buildImage(stages: readonly ImageStage[], folder: string): ImageRoot {
  const built = new Map<string, ImageRoot>()
  let last: ImageRoot | undefined
  for (const [at, stage] of stages.entries()) {
    last = stage.instructions.reduce((image, each) => follow(image, each, built), mountBase(join(folder, String(at))))
    built.set(stage.name, last)
  }
  if (last === undefined) throw new Error('The Dockerfile has no stage.')
  return last
}

function mountBase(folder: string): ImageRoot {
  const [upper, work, path] = ['upper', 'work', 'root'].map((name) => join(folder, name)) as [string, string, string]
  for (const each of [upper, work, path]) mkdirSync(each, { recursive: true })
  must('mount', ['-t', 'overlay', 'overlay', '-o', `lowerdir=/,upperdir=${upper},workdir=${work}`, path])
  must('mount', ['--rbind', '/dev', join(path, 'dev')])
  must('mount', ['-t', 'proc', 'proc', join(path, 'proc')])
  must('mount', ['-t', 'tmpfs', 'tmpfs', join(path, 'tmp')])
  chmodSync(join(path, 'tmp'), 0o1777)
  cpSync(process.execPath, join(path, 'usr/local/bin/node'))
  return { path, folder: '/', env: { PATH }, user: '0:0' }
}

function follow(image: ImageRoot, { name, words }: Instruction, built: ReadonlyMap<string, ImageRoot>): ImageRoot {
  switch (name) {
    case 'WORKDIR':
      mkdirSync(join(image.path, words), { recursive: true })
      return { ...image, folder: words }
    case 'ENV':
      return { ...image, env: { ...image.env, ...Object.fromEntries(words.split(' ').map((pair) => pair.split('='))) } }
    case 'USER':
      return { ...image, user: words }
    case 'RUN':
      runIn(image, words)
      return image
    case 'COPY':
      copyInto(image, words.split(' '), built)
      return image
    default: // EXPOSE, HEALTHCHECK, ENTRYPOINT and CMD say how it is run
      return image
  }
}

function runIn({ path, folder, env }: ImageRoot, command: string): void {
  const variables = Object.entries({ HOME: homedir(), ...env }).map(([name, value]) => `${name}=${value}`)
  must('chroot', [path, 'env', '-i', '-C', folder, ...variables, 'sh', '-c', command])
}

function copyInto(image: ImageRoot, words: readonly string[], built: ReadonlyMap<string, ImageRoot>): void {
  const from = words[0]?.startsWith('--from=') ? built.get(words[0].slice('--from='.length))?.path : undefined
  const paths = from === undefined ? words : words.slice(1)
  const target = resolve(image.folder, paths.at(-1) ?? '')
  for (const path of paths.slice(0, -1)) {
    const source = from === undefined ? join(repository, path) : join(from, path)
    const isFolder = statSync(source).isDirectory()
    const into = isFolder ? target : paths.at(-1)?.endsWith('/') ? join(target, basename(path)) : target
    cpSync(source, join(image.path, into), { recursive: true, verbatimSymlinks: true })
  }
}
