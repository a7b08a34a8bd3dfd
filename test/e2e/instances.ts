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

afterAll(() => {
  stopAll()
  rmSync(folder, { recursive: true, force: true })
})

/** Starts a program of the repository. */
export function start(name: string, program: string, env: Readonly<Record<string, string>> = {}): Promise<Instance> {
  return startInstance({ name, program: join(root, program), env: { PANNIER_KEYS: keys, ...env } })
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
