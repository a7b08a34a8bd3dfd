/** The files in deploy: they parse, what they name exists, and they fit the gateway. */
import { readdirSync, readFileSync } from 'node:fs'
import { metrics } from '@opentelemetry/api'
import { Ajv } from 'ajv'
import { readGatewayConfig } from 'pannier/gateway'
import { afterEach, expect, test } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { gatewayCommand } from '../../src/cli/commands/gateway.ts'
import { serveOperators } from '../../docs/snippets/gateway.ts'
import { DRAIN_MS } from '../../src/server/lifecycle/shutdown.ts'
import { listFiles, readText } from '../../scripts/repository.ts'
import {
  call,
  connectClient,
  modernServer,
  sessionServer,
  startGateway,
  stdioEntry,
} from '../gateway/fixtures/gateways.ts'

const DOCKERFILE = 'deploy/Dockerfile'
const COMPOSE = 'deploy/compose.yaml'
const SERVERS = 'deploy/mcp.jsonc'
const NGINX = 'deploy/nginx.conf'
const CHART = 'deploy/helm/pannier-gateway'
const RULES = 'deploy/prometheus/rules.yaml'
const DASHBOARDS = 'deploy/grafana'

const DEFAULT_PORT = Number(gatewayCommand().options.find(({ long }) => long === '--port')?.defaultValue)
const DEFAULT_ADMIN_PORT = 8932
const DRAIN_SECONDS = DRAIN_MS / 1000

afterEach(() => metrics.disable())

const yamlOf = (path: string) => parseYaml(readText(path), { merge: true })

interface Service {
  readonly command?: readonly string[]
  readonly volumes?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly networks?: { readonly default: { readonly ipv4_address: string } }
  readonly healthcheck?: { readonly test: readonly string[] }
  readonly build?: { readonly context: string; readonly dockerfile: string }
  readonly stop_grace_period?: string
}

const services: Readonly<Record<string, Service>> = yamlOf(COMPOSE).services
const gateways = Object.entries(services).flatMap(([name, service]) => (name.startsWith('gateway-') ? [service] : []))

function expectKnownOptions(args: readonly string[]): void {
  const known = gatewayCommand().options.map(({ long }) => long)
  for (const option of args.filter((arg) => arg.startsWith('--'))) expect(known).toContain(option)
}

test('the image copies files that exist, and starts the gateway without a shell and without root', () => {
  const lines = readText(DOCKERFILE).replaceAll('\\\n', ' ').split('\n')
  const copied = lines.flatMap((line) => /^COPY (?!--from)(.*) \S+$/.exec(line)?.[1]?.split(' ') ?? [])
  const files = listFiles()
  expect(copied).toContain('bin')
  for (const path of copied) expect(files.some((file) => file === path || file.startsWith(`${path}/`))).toBe(true)
  const ignored = readText(`${DOCKERFILE}.dockerignore`)
  for (const path of copied) expect(ignored).toContain(`!${path}\n`)
  expect(lines.findLast((line) => line.startsWith('USER'))).toMatch(/^USER [1-9]\d*:[1-9]\d*$/)
  const argsOf = (name: string): string[] =>
    JSON.parse(lines.find((line) => line.startsWith(`${name} [`))?.slice(name.length) ?? '[]')
  expect(argsOf('ENTRYPOINT').at(-1)).toMatch(/\/bin\/pannier\.js$/)
  expect(argsOf('CMD')[0]).toBe('gateway')
  expectKnownOptions(argsOf('CMD'))
  expect(readText(DOCKERFILE)).toContain(`http://127.0.0.1:${DEFAULT_PORT}/health/live`)
  expect(lines).toContain(`EXPOSE ${DEFAULT_PORT} ${DEFAULT_ADMIN_PORT}`)
})

test('the compose file has three gateways that nginx and the gateways themselves know by their addresses', () => {
  const addresses = gateways.map(({ networks }) => `${networks?.default.ipv4_address}:${DEFAULT_PORT}`)
  expect(addresses).toHaveLength(3)
  const upstreams = [...readText(NGINX).matchAll(/^ {2}server (\S+) max_fails=0;$/gm)].map(([, address]) => address)
  expect(upstreams).toEqual(addresses)
  for (const [at, { environment = {}, healthcheck, command = [] }] of gateways.entries()) {
    expect(environment['PANNIER_ADVERTISE']).toBe(`http://${addresses[at]}`)
    expect(environment['PANNIER_PEERS']).toBe(addresses.map((address) => `http://${address}`).join(','))
    expect(healthcheck?.test).toHaveLength(4)
    expect(healthcheck?.test[3]).toContain(`http://127.0.0.1:${DEFAULT_PORT}/health'`)
    expectKnownOptions(command)
  }
})

test('the compose file mounts files that exist, and waits longer than a stop takes', () => {
  const files = listFiles()
  for (const { volumes = [], build, stop_grace_period: grace } of Object.values(services)) {
    for (const [path = ''] of volumes.map((volume) => volume.split(':')))
      if (path.startsWith('./')) expect(files).toContain(`deploy/${path.slice(2)}`)
    if (build === undefined) continue
    expect(files).toContain(build.dockerfile)
    expect(Number.parseInt(grace ?? '', 10)).toBeGreaterThan(DRAIN_SECONDS)
  }
})

test('the gateways of the compose file can serve its servers, with the variables that they have', async () => {
  const env = { ...gateways[0]?.environment, HOME: '/tmp', DATABASE_URL: 'postgres://postgres/pannier' }
  const { unusable, warnings = [], settings } = await readGatewayConfig(SERVERS, env)
  expect([unusable, warnings]).toEqual([[], []])
  expect(settings).toMatchObject({ pins: 'postgres', admin: { host: '0.0.0.0', port: DEFAULT_ADMIN_PORT } })
})

test('nginx passes on as the guide about replicas says', () => {
  const directives = (text: string): string[] =>
    text.match(/^ +(?!server |#)[a-z_]+ [^{}\n]*;$/gm)?.map((line) => line.trim()) ?? []
  const guide = directives(readText('examples/gateway/replicas.nginx.conf'))
  expect(guide.length).toBeGreaterThan(5)
  expect(directives(readText(NGINX))).toEqual(expect.arrayContaining(guide))
})

test("the chart asks at the gateway's addresses, and gives a stop its time", () => {
  const deployment = readText(`${CHART}/templates/deployment.yaml`)
  expect(deployment).toContain(`{ name: mcp, containerPort: ${DEFAULT_PORT} }`)
  expect(deployment).toContain(`{ name: admin, containerPort: ${DEFAULT_ADMIN_PORT} }`)
  expect(deployment).toMatch(/readinessProbe:\s+httpGet: \{ path: \/health, port: mcp \}/)
  expect(deployment).toMatch(/livenessProbe:\s+httpGet: \{ path: \/health\/live, port: mcp \}/)
  const afterTerm = /terminationGracePeriodSeconds: \{\{ add \.Values\.preStopSeconds (\d+) \}\}/.exec(deployment)?.[1]
  expect(Number(afterTerm)).toBeGreaterThan(DRAIN_SECONDS)
  expectKnownOptions(deployment.match(/(?<=^ +- )--[a-z-]+$/gm) ?? expect.fail('no options'))
})

test('the chart reads values that it has, and its schema accepts them with an image', () => {
  const values = yamlOf(`${CHART}/values.yaml`)
  const accepts = new Ajv({ allowUnionTypes: true }).compile(JSON.parse(readText(`${CHART}/values.schema.json`)))
  expect(accepts(values)).toBe(false) // the image is required
  expect([accepts({ ...values, image: { ...values.image, repository: 'mine' } }), accepts.errors]).toEqual([true, null])
  expect(accepts({ ...values, image: { repository: 'mine' }, replicas: 2 })).toBe(false)
  for (const name of readdirSync(`${CHART}/templates`)) {
    const used = readText(`${CHART}/templates/${name}`).matchAll(/\.Values\.([\w.]+)/g)
    for (const [, path = ''] of used) {
      const value = path.split('.').reduce((at, key) => at?.[key], values)
      expect([name, path, value]).not.toEqual([name, path, undefined])
    }
  }
  const { version, appVersion } = yamlOf(`${CHART}/Chart.yaml`)
  expect([version, appVersion]).toEqual([manifest.version, manifest.version])
})

const manifest: { version: string } = JSON.parse(readText('package.json'))

/** Every PromQL expression of the rules and the dashboards. */
function expressions(): string[] {
  const rules: { expr: string }[] = yamlOf(RULES).groups.flatMap(({ rules }: { rules: object[] }) => rules)
  const found: string[] = rules.map(({ expr }) => expr)
  for (const name of readdirSync(DASHBOARDS)) {
    const { panels, templating } = JSON.parse(readFileSync(`${DASHBOARDS}/${name}`, 'utf8'))
    for (const { targets = [] } of panels) found.push(...targets.map(({ expr }: { expr: string }) => expr))
    for (const { definition } of templating.list) if (definition !== undefined) found.push(definition)
  }
  return found
}

/** Metrics with their labels, as a gateway shows them after calls of every outcome that rules name. */
async function shownMetrics(): Promise<Map<string, Set<string>>> {
  const servers = {
    ours: { url: (await modernServer()).url },
    http: { url: (await sessionServer()).url },
    stdio: stdioEntry(),
  }
  const top = { gateway: { admin: { port: 0 } } }
  const { gateway, url } = await startGateway(servers, {}, top)
  const admin = await serveOperators(gateway)
  const client = await connectClient('v2', url)
  await call(client, 'ours_add', { a: 1, b: 2 })
  await call(client, 'http_fail')
  await expect(call(client, 'ours_nothing')).rejects.toThrow('There is no tool')
  const shown = new Map<string, Set<string>>()
  for (const line of (await (await fetch(`${admin}metrics`)).text()).split('\n')) {
    const [, name, labels = ''] = /^(\w+)(?:\{(.*)\})? \S+$/.exec(line) ?? []
    if (name === undefined) continue
    const known = shown.get(name) ?? new Set()
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) known.add(label)
    shown.set(name, known)
  }
  await gateway.drain({ deadlineMs: 0 })
  return shown
}

/** Labels that Prometheus and the workers of a gateway add. */
const ADDED = ['job', 'instance', 'worker']
const FUNCTIONS = /\b(?:sum|min|max|rate|topk|histogram_quantile|label_values|by|and|or|offset)\b/g

test('alerts and dashboards use metrics and labels that a gateway shows', async () => {
  const shown = await shownMetrics()
  const all = expressions()
  expect(all.length).toBeGreaterThan(20)
  for (const expression of all) {
    const labels: string[] = []
    const bare = expression
      .replace(/^label_values\((.*), (\w+)\)$/, (_, metric: string, label: string) => (labels.push(label), metric))
      .replace(/\bby \(([^)]*)\)/g, (_, list: string) => (labels.push(...list.split(', ')), ''))
      .replace(/\{([^}]*)\}/g, (_, list: string) => (labels.push(...(list.match(/\w+(?=[!=]~?"|=~")/g) ?? [])), ''))
      .replace(/\[[^\]]*\]|\boffset \w+/g, '')
      .replace(FUNCTIONS, '')
    const names = bare.match(/[a-z_]\w*/g) ?? []
    expect([expression, names.length]).not.toEqual([expression, 0])
    for (const name of names) {
      if (name === 'up') continue // of Prometheus itself
      expect([...shown.keys()]).toContain(name)
      for (const label of labels) expect([...ADDED, ...(shown.get(name) ?? [])]).toContain(label)
    }
  }
})
