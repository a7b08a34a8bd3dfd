/** Instances for a test file: processes with one key ring, gone when the file is done. */
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
export const folder = mkdtempSync(join(tmpdir(), 'pannier-e2e-'))

/** The environment of a process. */
export const env = {
  ...process.env,
  // What the test runner was told of colours is not meant for these.
  FORCE_COLOR: undefined,
  NO_COLOR: undefined,
}

const started: Instance[] = []

afterAll(async () => {
  const ended = Promise.all(started.map((instance) => instance.end('SIGTERM')))
  await Promise.race([ended, setTimeout(2000)])
  stopAll()
  rmSync(folder, { recursive: true, force: true })
})

/** Starts a program of the repository. */
export async function start(
  name: string,
  program: string,
  more: Readonly<Record<string, string>> = {},
): Promise<Instance> {
  const instance = await startInstance({ name, program: join(root, program), env: { PANNIER_KEYS: keys, ...more } })
  started.push(instance)
  return instance
}

/** Starts several at once. */
export async function startAll<const N extends readonly string[]>(
  names: N,
  program: string,
  more: Readonly<Record<string, string>> = {},
): Promise<{ [K in keyof N]: Instance }> {
  const instances = await Promise.all(names.map((name) => start(name, program, more)))
  return instances as { [K in keyof N]: Instance }
}
