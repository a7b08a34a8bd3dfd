/** Instances for a test file: processes with one key ring, gone when the file is done. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newKey } from 'pannier/state'
import { afterAll } from 'vitest'
import { type Instance, startInstance, stopAll } from '../../examples/work-items/fleet.ts'
import { root } from '../../scripts/repository.ts'

export type { Instance }

export const keys = newKey()
export const folder = mkdtempSync(join(tmpdir(), 'pannier-e2e-'))

// Instances that end by themselves leave their compiled sources to those of the next test file.
const NODE_COMPILE_CACHE = join(tmpdir(), 'pannier-compile-cache')
const started: Instance[] = []

afterAll(async () => {
  for (const { child } of started) if (child.connected) child.disconnect()
  await Promise.all(started.map(({ exited }) => exited))
  stopAll()
  rmSync(folder, { recursive: true, force: true })
})

/** Starts a program of the repository. */
export async function start(
  name: string,
  program: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Instance> {
  const launch = { name, program: join(root, program), env: { PANNIER_KEYS: keys, NODE_COMPILE_CACHE, ...env } }
  const instance = await startInstance(launch)
  started.push(instance)
  return instance
}

/** Starts several at once. */
export async function startAll<const N extends readonly string[]>(
  names: N,
  program: string,
  env: Readonly<Record<string, string>> = {},
): Promise<{ [K in keyof N]: Instance }> {
  const instances = await Promise.all(names.map((name) => start(name, program, env)))
  return instances as { [K in keyof N]: Instance }
}
