/** Instances for a test file: processes with one key ring. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { newKey } from 'pannier/state'
import { afterAll } from 'vitest'
import { type Instance, startInstance, stopAll } from '../../examples/work-items/fleet.ts'
import { root } from '../../scripts/repository.ts'

export type { Instance }

export const keys = newKey()

/** The environment of a process. */
export const env = {
  ...process.env,
  // What the test runner was told of colours is not meant for these.
  FORCE_COLOR: undefined,
  NO_COLOR: undefined,
}

export interface Instances {
  /** Removed when the file is done. */
  readonly folder: string
  /** Starts a program of the repository. It ends when the file is done, at the latest. */
  start(name: string, program: string, more?: Readonly<Record<string, string>>): Promise<Instance>
  /** Starts several at once. */
  startAll<const N extends readonly string[]>(
    names: N,
    program: string,
    more?: Readonly<Record<string, string>>,
  ): Promise<{ [K in keyof N]: Instance }>
}

/** For one test file, which calls this once. */
export function useInstances(): Instances {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-e2e-'))
  const started: Instance[] = []

  afterAll(async () => {
    const ended = Promise.all(started.map((instance) => instance.end('SIGTERM')))
    await Promise.race([ended, setTimeout(2000)])
    stopAll()
    rmSync(folder, { recursive: true, force: true })
  })

  const start: Instances['start'] = async (name, program, more = {}) => {
    const instance = await startInstance({ name, program: join(root, program), env: { PANNIER_KEYS: keys, ...more } })
    started.push(instance)
    return instance
  }
  const startAll: Instances['startAll'] = async <const N extends readonly string[]>(
    names: N,
    program: string,
    more?: Readonly<Record<string, string>>,
  ) => {
    const instances = await Promise.all(names.map((name) => start(name, program, more)))
    return instances as { [K in keyof N]: Instance }
  }
  return { folder, start, startAll }
}
