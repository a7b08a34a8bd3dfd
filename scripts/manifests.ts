// Renders the Helm chart of deploy with each of its values, and checks the manifests against the published schemas of Kubernetes and of the
// Prometheus operator; then checks the alerts with promtool. Needs golang-go, golang-github-masterminds-sprig-dev,
// golang-gopkg-yaml.v3-dev and prometheus of Debian, and fetches the schemas from npm.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import { run } from './release/pack.ts'
import { readText, root } from './repository.ts'

const CHART = 'deploy/helm/pannier-gateway'
const SCHEMAS = ['kubernetes-models@5.1.0', '@kubernetes-models/prometheus-operator@6.0.0']

/** Where the schema of a kind is. */
const KINDS: Readonly<Record<string, string>> = {
  Deployment: 'kubernetes-models/apps/v1/Deployment.js',
  Service: 'kubernetes-models/v1/Service.js',
  PodDisruptionBudget: 'kubernetes-models/policy/v1/PodDisruptionBudget.js',
  NetworkPolicy: 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy.js',
  HorizontalPodAutoscaler: 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler.js',
  ServiceMonitor: '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor.js',
}

/** Values that differ from the chart's own, one set for each rendering. Each value of the chart is in one of them. */
const CHANGES: readonly object[] = [
  {},
  { replicaCount: 1, temporarySize: '2Gi', preStopSeconds: 0, insecure: true, advertise: 'http://[$(POD_IP)]:8931' },
  { image: { repository: 'mine', tag: 'x', pullPolicy: 'Always', pullSecrets: ['registry'] } },
  { file: { secret: 'other', key: 'other.json' }, environmentSecrets: ['one', 'two'] },
  { environment: [{ name: 'PANNIER_LOG_LEVEL', value: 'debug' }], resources: {} },
  { service: { type: 'LoadBalancer', port: 8080, annotations: { one: 'two' } } },
  { podDisruptionBudget: { enabled: false }, networkPolicy: { enabled: false } },
  { autoscaling: { enabled: true, minReplicas: 2, maxReplicas: 4, targetCPU: 50 } },
  { networkPolicy: { clients: [{ namespaceSelector: {} }], egress: [{ to: [{ ipBlock: { cidr: '10.0.0.0/8' } }] }] } },
  { metrics: { enabled: true }, networkPolicy: { scrapers: [{ podSelector: {} }] } },
  { metrics: { enabled: true, serviceMonitor: { enabled: true, interval: '10s', labels: { release: 'prometheus' } } } },
  { podAnnotations: { one: 'two' }, podLabels: { three: 'four' }, nodeSelector: { five: 'six' } },
  { tolerations: [{ operator: 'Exists' }], affinity: { nodeAffinity: {} } },
]

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Values as Helm merges them. */
function merged(base: object, changes: object): object {
  const pairs = Object.entries(changes).map(([name, value]: [string, unknown]) => {
    const before: unknown = Reflect.get(base, name)
    return [name, isObject(before) && isObject(value) && Object.keys(value).length > 0 ? merged(before, value) : value]
  })
  return { ...base, ...Object.fromEntries(pairs) }
}

async function tryChart(folder: string): Promise<void> {
  const render = join(folder, 'render')
  const go = { GOPATH: '/usr/share/gocode', GO111MODULE: 'off', GOCACHE: join(folder, 'cache') }
  execFileSync('go', ['build', '-o', render, 'scripts/deploy/render.go'], { cwd: root, env: { ...process.env, ...go } })
  run('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', ...SCHEMAS])
  const own = merged(parse(readText(`${CHART}/values.yaml`)) as object, { image: { repository: 'mine' } })
  const changed = new Set(CHANGES.flatMap((changes) => Object.keys(changes)))
  const untried = Object.keys(own).filter((name) => !changed.has(name))
  if (untried.length > 0) throw new Error(`CHANGES has no ${untried.join(', ')}.`)
  let count = 0
  for (const changes of CHANGES) {
    const file = join(folder, 'values.json')
    writeFileSync(file, JSON.stringify(merged(own, changes)))
    for (const document of parseAllDocuments(run(render, [CHART, file]))) {
      const [error] = document.errors
      if (error !== undefined) throw new Error(`With ${JSON.stringify(changes)}: ${error.message}`)
      const manifest = document.toJSON() as { kind: string } | null
      if (manifest === null) continue
      await validate(folder, manifest)
      count++
    }
  }
  console.log(`${count} manifests of ${CHANGES.length} renderings fit their schemas.`)
}

async function validate(folder: string, manifest: { kind: string }): Promise<void> {
  const path = KINDS[manifest.kind]
  if (path === undefined) throw new Error(`There is no schema for ${manifest.kind}.`)
  const models = (await import(join(folder, 'node_modules', path))) as Record<
    string,
    new (
      data: object,
    ) => { validate(): void }
  >
  const Model = models[manifest.kind]
  if (Model === undefined) throw new Error(`${path} has no ${manifest.kind}.`)
  new Model(manifest).validate()
}

function has(program: string): boolean {
  try {
    execFileSync('which', [program])
    return true
  } catch {
    return false
  }
}

const folder = mkdtempSync(join(tmpdir(), 'pannier-manifests-'))
try {
  if (has('go')) await tryChart(folder)
  else console.log('The chart was not rendered: install golang-go and golang-github-masterminds-sprig-dev.')
  if (has('promtool')) {
    run('promtool', ['check', 'rules', 'deploy/prometheus/rules.yaml'])
    run('promtool', ['test', 'rules', 'deploy/prometheus/rules.test.yaml'])
    console.log('The alerts pass their tests.')
  } else console.log('The alerts were not tried: install prometheus.')
} finally {
  rmSync(folder, { recursive: true, force: true })
}
