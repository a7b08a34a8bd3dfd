/**
 * The settings as they count now, the problems of the file, and what a reload would change. The file is read again when it changes,
 * while the page is open. Values that may be secret are never shown.
 */
import { stat } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { nameOf } from '../../../client/index.ts'
import { isObject, type Json } from '../../../protocol/index.ts'
import {
  BACKEND_DEFAULTS,
  type BackendConfig,
  difference,
  GATEWAY_DEFAULTS,
  type GatewayConfig,
  GatewayConfigError,
  readGatewayConfig,
  reloadedSettings,
  restartSettings,
} from '../../config/index.ts'
import type { ConsoleTopic } from './desk.ts'

export interface SettingsParts {
  readonly config: () => GatewayConfig
  /** Whether this is one of several workers, which share the limits of a server. */
  readonly isWorker: boolean
}

/** Members with values that may be secret, wherever they stand. */
const SECRET: ReadonlySet<string> = new Set([
  'keys',
  'postgres',
  'token',
  'clientSecret',
  'secret',
  'webhook',
  'chat',
  'mail',
])
const HIDDEN = '(set, not shown)'
/** Options of the program count before these members of the file. */
const OPTIONS: ReadonlySet<string> = new Set(['admin', 'postgres'])
const SHARED_LIMITS: ReadonlySet<string> = new Set(['maxProcesses', 'maxSessions', 'maxInFlight'])

/** Longer values have several lines. */
const MAX_LINE_CHARS = 80

type Problems = NonNullable<GatewayConfig['warnings']>

/** Items: `file`, `gateway`, `server/NAME`, and `reload` with what it would change. */
export function settingsTopic({ config: current, isWorker }: SettingsParts): ConsoleTopic {
  const file = new ChangedFile()
  return {
    read: async () => {
      const config = current()
      const problems = config.unusable.flatMap((server) => server.problems)
      const items: Record<string, Json> = {
        file: {
          file: config.file ?? null,
          pid: isWorker ? process.ppid : process.pid,
          problems: [...shownProblems(problems, 'error'), ...shownProblems(config.warnings ?? [], 'warning')],
        },
        gateway: { rows: rowsOf(config.settings, GATEWAY_DEFAULTS) },
      }
      for (const { name, address, settings } of config.servers)
        items[`server/${name}`] = { name, address: nameOf(address), rows: rowsOf(settings, BACKEND_DEFAULTS) }
      if (config.file !== undefined) items['reload'] = reloadOf(config, await file.read(config.file), isWorker)
      return items
    },
  }
}

/** The configuration of a file, read again when its time of change differs. */
class ChangedFile {
  #changed: number | undefined
  #read: Promise<GatewayConfig> | undefined

  async read(path: string): Promise<GatewayConfig | Error> {
    try {
      const { mtimeMs } = await stat(path)
      if (mtimeMs !== this.#changed) this.#read = readGatewayConfig(path)
      this.#changed = mtimeMs
      return (await this.#read) ?? new Error('The file was not read.')
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error))
    }
  }
}

function reloadOf(before: GatewayConfig, after: GatewayConfig | Error, isWorker: boolean): Json {
  if (after instanceof GatewayConfigError) return { problems: shownProblems(after.problems, 'error') }
  if (after instanceof Error) return { problems: [{ kind: 'error', key: '', sentence: after.message }] }
  const comparable = (servers: readonly BackendConfig[]) => (isWorker ? servers.map(withoutShares) : servers)
  const { added, removed, changed } = difference(
    { servers: comparable(before.servers) },
    { servers: comparable(after.servers) },
  )
  const names = (servers: readonly BackendConfig[]): readonly string[] => servers.map(({ name }) => name)
  return {
    problems: shownProblems(
      after.unusable.flatMap((server) => server.problems),
      'error',
    ),
    added: names(added),
    removed: names(removed),
    changed: names(changed.map((pair) => pair.after)),
    settings: reloadedSettings(before.settings, after.settings),
    restart: restartSettings(before.settings, after.settings).filter((name) => !OPTIONS.has(name)),
  }
}

/** Each worker has its share of some limits. */
function withoutShares(server: BackendConfig): BackendConfig {
  const kept = Object.entries(server.settings).filter(([name]) => !SHARED_LIMITS.has(name))
  return { ...server, settings: Object.fromEntries(kept) as unknown as BackendConfig['settings'] }
}

function shownProblems(problems: Problems, kind: 'error' | 'warning'): readonly Json[] {
  return problems.map(({ line, key, sentence }) => ({ kind, line: line ?? null, key, sentence }))
}

function rowsOf(settings: object, defaults: object): readonly Json[] {
  const usual = new Map<string, unknown>(Object.entries(defaults))
  return Object.entries(settings).map(([name, value]) => ({
    name,
    value: shownText(name, value),
    isDefault: isDeepStrictEqual(value, usual.get(name)),
  }))
}

function shownText(name: string, value: unknown): string {
  const text = JSON.stringify(withoutSecrets(name, value)) ?? 'none'
  return text.length > MAX_LINE_CHARS ? JSON.stringify(JSON.parse(text), null, 2) : text
}

function withoutSecrets(name: string, value: unknown): unknown {
  if (SECRET.has(name)) return HIDDEN
  if (name === 'urls' && Array.isArray(value)) return value.map((url) => nameOf({ url: String(url) }))
  if (Array.isArray(value)) return value.map((each) => withoutSecrets('', each))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([member, each]) => [member, withoutSecrets(member, each)]))
}
