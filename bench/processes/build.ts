import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'tsdown'

const bench = fileURLToPath(new URL('..', import.meta.url))
const root = fileURLToPath(new URL('../..', import.meta.url))

/** The measured programs, by their files in `bench/programs`. */
const PROGRAMS = {
  baseline: 'server/baseline.ts',
  sdk: 'server/sdk.ts',
  pannier: 'server/pannier.ts',
  seal: 'server/seal.ts',
  journal: 'server/journal.ts',
  layers: 'client/layers.ts',
  jar: 'client/jar.ts',
  tasks: 'tasks/main.ts',
  waitingTasks: 'tasks/waiting.ts',
  openQuestions: 'tasks/openQuestions.ts',
  gateway: 'gateway/gateway.ts',
  gatewayWorkers: 'gateway/workers.ts',
  approvals: 'gateway/approvals.ts',
  echoBackend: 'gateway/echoBackend.ts',
  dispatchProxy: 'gateway/dispatchProxy.ts',
  sdkGateway: 'gateway/sdkGateway.ts',
  mcpProxy: 'gateway/mcpProxy.ts',
  sessionServer: 'bridge/sessionServer.ts',
  launchBare: 'frameworks/bare.ts',
  launchSdk: 'frameworks/sdk.ts',
  launchPannier: 'frameworks/pannier.ts',
} as const
export type Program = keyof typeof PROGRAMS

/** The built programs of one run; they are removed at its end. */
export interface Built {
  file(program: Program): string
}

/**
 * Measured programs run as JavaScript, as users run them: Node's type stripping alone takes 18 MB. Our own source is
 * bundled as in a release; packages from npm are not bundled. The folder is inside the project, so that they are found.
 */
export async function buildPrograms(programs: readonly Program[]): Promise<Built> {
  const folder = join(root, 'node_modules', '.cache', `pannier-bench-${process.pid}`)
  mkdirSync(folder, { recursive: true })
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  await build({
    entry: Object.fromEntries(programs.map((program) => [program, sourceOf(program)])),
    cwd: root,
    outDir: folder,
    config: false,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    dts: false,
    report: false,
    logLevel: 'error',
    deps: { neverBundle: true, alwaysBundle: [/^pannier\//, /^#/] },
    inputOptions: { resolve: { conditionNames: ['pannier-source', 'node', 'import', 'default'] } },
  })
  return { file: (program) => join(folder, `${program}.mjs`) }
}

export function sourceOf(program: Program): string {
  return join(bench, 'programs', PROGRAMS[program])
}
