/** Serving the servers of a file, until the program is stopped. */
import type { GatewayConfig } from '../../gateway/index.ts'
import type { WorkerTableOptions } from '../../gateway/internal.ts'
import { EXIT, type ExitCode, InputError } from '../exit.ts'
import { lineWidth } from '../output/layout.ts'
import { aborted, type CommandContext } from '../runCommand.ts'
import { rereadOnChange } from '../serving/reload.ts'
import type { ServedGateway } from '../serving/served.ts'

export interface ServeOptions {
  readonly port: number
  readonly host: string
  readonly adminPort?: number
  readonly insecure?: boolean
  readonly stdio?: boolean
  readonly workers?: number
  readonly watch?: boolean
  readonly dryRun?: boolean
  readonly postgres?: string
}

/** Timeout after which the table is shown without the servers that have not answered. */
const TABLE_MS = 3000
/** How often, and how long, to wait for late servers before the ones that answered are shown. */
const LATE_MS = 30_000
const LATE_TIMES = 20

export async function serveGateway(file: string, options: ServeOptions, context: CommandContext): Promise<ExitCode> {
  const { assertDatabaseUsable, assertPortFree, databaseFault, problemText, readGatewayConfig } = await import(
    '../../gateway/internal.ts'
  )
  const { noServersText } = await import('../output/gateway.ts')
  const { display, signal } = context
  if (/^https?:\/\//i.test(file)) throw new InputError(NO_FILE)
  if (options.stdio && options.workers !== undefined) throw new InputError(ONE_CLIENT)
  const { postgres } = options
  const fault = postgres === undefined ? undefined : databaseFault(postgres)
  if (fault !== undefined) throw new InputError(`--postgres ${fault}`)
  const read = async (): Promise<GatewayConfig> => withOptions(await readGatewayConfig(file), options)
  const config = await read()
  const showProblems = (shown: GatewayConfig): void => {
    const { unusable, warnings = [] } = shown
    const none = noServersText(file, shown)
    if (none !== undefined) display.note(none)
    // At the start, the table has them.
    const isInTable = shown === config && !options.stdio
    for (const problem of (isInTable ? [] : unusable).flatMap(({ problems }) => problems))
      display.note(`Left out: ${problemText(problem)}`)
    for (const warning of warnings) display.note(`warning: ${problemText(warning)}`)
  }
  showProblems(config)
  await orExplain(() => assertDatabaseUsable(config.settings))
  if (!options.stdio) await orExplain(() => assertPortFree(options))
  const served = await orExplain(() => servedBy(config, options, context))

  const note = (sentence: string): void => display.note(sentence)
  const isWatched = options.watch === true
  const stopRereading = rereadOnChange({ file, config, read, served, showProblems, note, isWatched })
  try {
    if (options.stdio) await Promise.race([served.stdio?.(), aborted(signal)])
    else {
      const { port, host, insecure = false } = options
      const url = await orExplain(() => served.listen({ port, host, insecure }))
      if (config.settings.admin !== false) await startAdmin(served, context)
      await showTable(served, url, context)
      await aborted(signal)
    }
    return EXIT.ok
  } finally {
    stopRereading()
    await served.drain()
  }
}

/** Options of the program override the file. */
function withOptions(config: GatewayConfig, { postgres, adminPort: port, dryRun }: ServeOptions): GatewayConfig {
  const { admin, ...settings } = config.settings
  const served = port === undefined ? admin : { host: '127.0.0.1', ...admin, port }
  return {
    ...config,
    settings: { ...settings, admin: served, ...(postgres !== undefined && { postgres }), ...(dryRun && { dryRun }) },
  }
}

const NO_FILE =
  'Name a file, and the server in it: { "mcpServers": { "NAME": { "url": "https://…" } } }. An address is none.'
const ONE_CLIENT = 'With --stdio there is one client, which one process serves. Leave out --stdio or --workers.'

async function servedBy(
  config: GatewayConfig,
  { stdio = false, workers = config.settings.workers }: ServeOptions,
  { display }: CommandContext,
): Promise<ServedGateway> {
  const onNews = (sentence: string): void => display.note(sentence)
  if (!stdio && workers > 1) return (await import('../serving/served.ts')).inWorkers(config, { workers, onNews })
  return (await import('../serving/served.ts')).oneProcess(config)
}

/** A port that is in use, an address that everyone could reach or a wrong variable is a mistake of the user. */
async function orExplain<T>(begin: () => Promise<T>): Promise<T> {
  try {
    return await begin()
  } catch (error) {
    const isMistake = error instanceof TypeError || (error instanceof Error && 'code' in error)
    throw isMistake ? new InputError(error.message) : error
  }
}

/** The gateway also serves without an admin address: another gateway may have the port. */
async function startAdmin(served: ServedGateway, { display }: CommandContext): Promise<void> {
  try {
    const admin = await served.listenAdmin()
    if (admin !== undefined) display.note(`Health and servers: ${admin.pages.join(', ')}`)
    if (admin?.console !== undefined) display.note(`Console: ${admin.console}`)
  } catch (error) {
    const why = error instanceof Error ? error.message : ''
    display.note(
      `There is no admin address: ${why} Give another one with --admin-port, or "gateway": { "admin": { "port": … } } in the file.`,
    )
  }
}

async function showTable(served: ServedGateway, url: string, { display, signal }: CommandContext): Promise<void> {
  display.note(`Serving ${url}`)
  const show = async (options: Omit<WorkerTableOptions, 'width'>): Promise<readonly string[]> => {
    // A worker that ends before its reply has no table.
    const table = served.table({ width: lineWidth(process.stderr), ...options }).catch(() => undefined)
    const shown = await Promise.race([table, aborted(signal)])
    if (shown && shown.text !== '') display.note(`\n${shown.text}`)
    return shown ? shown.late : []
  }
  let late = await show({ withinMs: TABLE_MS })
  for (let time = 0; late.length > 0 && time < LATE_TIMES; time++) late = await show({ withinMs: LATE_MS, only: late })
}
