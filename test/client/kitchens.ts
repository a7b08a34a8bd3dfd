/** The kitchens as processes, each reached in its own way. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { KEYS } from '../interop/instances.ts'

export type Maker = 'kitchen' | 'kitchenV1' | 'kitchenV2' | 'taskShop'

export interface Place {
  readonly name: string
  readonly maker: Maker
  readonly host: 'http' | 'stdio'
  readonly era: 'modern' | 'legacy'
}

export const places: readonly Place[] = [
  { name: 'Pannier over HTTP', maker: 'kitchen', host: 'http', era: 'modern' },
  { name: 'Pannier over stdio', maker: 'kitchen', host: 'stdio', era: 'modern' },
  { name: 'the SDK v2 over HTTP', maker: 'kitchenV2', host: 'http', era: 'modern' },
  { name: 'the SDK v2 over stdio', maker: 'kitchenV2', host: 'stdio', era: 'modern' },
  { name: 'the SDK v1 over HTTP', maker: 'kitchenV1', host: 'http', era: 'legacy' },
  { name: 'the SDK v1 over stdio', maker: 'kitchenV1', host: 'stdio', era: 'legacy' },
]

function programPath(name: string): string {
  return fileURLToPath(new URL(`programs/${name}.ts`, import.meta.url))
}

/** The command of a program of this folder. */
export function commandOf(name: string, ...args: readonly string[]): [command: string, ...args: string[]] {
  return [process.execPath, '--conditions=pannier-source', programPath(name), ...args]
}

export interface Kitchen {
  readonly url: string
  close(): void
}

/** One of each maker, over HTTP. */
export async function startKitchens(env: Readonly<Record<string, string>>): Promise<ReadonlyMap<Maker, Kitchen>> {
  const makers = ['kitchen', 'kitchenV1', 'kitchenV2'] as const
  return new Map(await Promise.all(makers.map(async (maker) => [maker, await startKitchen(maker, env)] as const)))
}

/** Over HTTP, in a process of its own. */
export async function startKitchen(
  maker: Maker,
  env: Readonly<Record<string, string>> = {},
  ...args: readonly string[]
): Promise<Kitchen> {
  const [command, ...rest] = commandOf(maker, 'http', ...args)
  const child: ChildProcess = spawn(command, rest, {
    env: { ...process.env, PANNIER_KEYS: KEYS, PANNIER_LOG_LEVEL: 'silent', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (child.stdout === null) throw new Error('The kitchen has no output.')
  for await (const url of createInterface(child.stdout)) return { url, close: () => void child.kill('SIGKILL') }
  throw new Error('The kitchen ended before it said where it is.')
}
