// Installs the package beside the lowest and the newest version of each optional package, in a project of its own, and uses
// them all. Then installs it in projects that have other packages of OpenTelemetry.
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import manifest from '../package.json' with { type: 'json' }
import { PostgresServer } from '../test/postgres/server.ts'
import { root } from './repository.ts'

const EXPECTED = { pg: 'page 1: true; paid: true', sdk: 'deployed: true', metrics: '1; pannier_gateway_calls_total 1' }
/** Not peers: npm would refuse a project whose `@opentelemetry/api` is not that of their newest versions, whether it has them or not. */
const FOR_METRICS = {
  '@opentelemetry/exporter-prometheus': '>=0.200.0',
  '@opentelemetry/sdk-metrics': '^2.0.0 || ^3.0.0',
}
const peers = Object.entries({ ...manifest.peerDependencies, ...FOR_METRICS })
const PROJECTS = ['@opentelemetry/sdk-metrics@2', '@opentelemetry/sdk-trace-node@2', '@opentelemetry/sdk-metrics@3']

/** The lower bound of a range such as `^2.0.0 || ^3.0.0`. */
const lowest = (range: string): string => /\d+\.\d+\.\d+/.exec(range)?.[0] ?? range
/** The newest version that the range admits: npm takes it. */
const newest = (range: string): string => range

function run(cwd: string, program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): string {
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, ...env },
  })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed:\n${stdout}${stderr}`)
  return stdout
}

const folder = mkdtempSync(join(tmpdir(), 'pannier-peers-'))
const database = await PostgresServer.start()
try {
  run(root, 'npm', ['pack', '--pack-destination', folder])
  const [tarball = ''] = readdirSync(folder)
  for (const [which, versionOf] of Object.entries({ lowest, newest })) {
    const project = mkdtempSync(join(folder, `${which}-`))
    writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
    const versions = peers.map(([name, range]) => `${name}@${versionOf(range)}`)
    // The peers first, as in a project that has had them for long; npm refuses what does not fit together.
    run(project, 'npm', ['install', '--no-audit', '--no-fund', 'zod', ...versions])
    run(project, 'npm', ['install', '--no-audit', '--no-fund', join(folder, tarball)])
    copyFileSync(join(root, 'test/peers/programs/usesPeers.ts'), join(project, 'usesPeers.ts'))
    const printed = run(project, process.execPath, ['usesPeers.ts'], {
      DATABASE: database.url(),
      PANNIER_LOG_LEVEL: 'error',
    })
    if (printed.trim() !== JSON.stringify(EXPECTED)) throw new Error(`With the ${which} peers: ${printed}`)
    console.log(`${which}: ${versions.join(' ')}`)
  }
  for (const there of PROJECTS) {
    const project = mkdtempSync(join(folder, 'project-'))
    writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
    run(project, 'npm', ['install', '--no-audit', '--no-fund', there])
    run(project, 'npm', ['install', '--no-audit', '--no-fund', join(folder, tarball)])
    console.log(`beside ${there}`)
  }
} finally {
  await database.end()
  rmSync(folder, { recursive: true, force: true })
}
