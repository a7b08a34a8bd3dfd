/** `all` may be imported, of `types` only the types, and of `names` the index alone may be passed on by another index. */
export type Access = 'all' | 'types' | 'names'

const all = [
  'protocol',
  'state',
  'journal',
  'cluster',
  'server',
  'tasks',
  'postgres',
  'client',
  'probe',
  'openapi',
] as const

/** Which folder of src may import which: the table of docs/explanation/architecture.md. A folder may always import itself. */
export const folders: Record<string, Record<string, Access>> = {
  protocol: {},
  state: { protocol: 'all' },
  journal: { protocol: 'all' },
  cluster: { protocol: 'all', state: 'all' },
  server: { protocol: 'all', state: 'all', journal: 'all', cluster: 'all' },
  tasks: { protocol: 'all', state: 'all', journal: 'all', server: 'types', postgres: 'names' },
  postgres: { protocol: 'all', state: 'all', journal: 'all', server: 'types', tasks: 'all' },
  client: { protocol: 'all', state: 'all' },
  probe: { protocol: 'all', client: 'all' },
  openapi: { protocol: 'all', server: 'all', client: 'all' },
  gateway: Object.fromEntries(all.map((folder) => [folder, 'all'])),
  console: { gateway: 'types' },
  sdk: { protocol: 'all', state: 'all', journal: 'all', server: 'all' },
  testing: { protocol: 'all', state: 'all', server: 'all', tasks: 'all', client: 'all' },
  cli: Object.fromEntries([...all, 'gateway', 'console', 'sdk', 'testing'].map((folder) => [folder, 'all'])),
}

/**
 * Which subfolder of a folder may import which. Files directly in the folder are what all its parts share, or what puts
 * the parts together, and are in no row; that no file imports itself through others is checked for all of them.
 */
export const parts: Record<string, Record<string, readonly string[]>> = {
  state: { quota: [], seal: [], stores: ['quota'], jar: ['stores'] },
  server: {
    auth: [],
    handler: ['auth', 'schema'],
    catalog: ['auth', 'handler', 'schema'],
    lifecycle: ['catalog', 'http'],
    limits: ['auth'],
    telemetry: ['catalog'],
    http: ['auth'],
    modern: ['auth', 'catalog', 'forwarding', 'http', 'lifecycle', 'limits'],
    forwarding: ['auth', 'http', 'telemetry'],
    node: ['http', 'stdio'],
    schema: [],
    legacy: ['auth', 'catalog', 'forwarding', 'http', 'lifecycle', 'limits', 'modern'],
    stdio: ['auth', 'http', 'legacy', 'lifecycle', 'modern'],
    calls: ['auth', 'catalog', 'handler', 'forwarding', 'lifecycle', 'limits', 'modern', 'schema', 'telemetry'],
  },
  tasks: { service: [], sql: [], sqlite: ['service', 'sql'] },
  postgres: { bus: [], tasks: [] },
  client: {
    answerers: ['questions'],
    config: [],
    echo: ['layer', 'transports'],
    jar: ['config', 'layer'],
    layer: [],
    modern: ['layer', 'transports'],
    questions: ['layer'],
    rounds: ['config', 'layer', 'questions', 'suspend'],
    scope: ['layer', 'transports'],
    suspend: ['config', 'questions'],
    tasks: ['config', 'layer', 'questions', 'suspend'],
    transports: ['config'],
  },
  probe: {
    wire: [],
    methods: ['wire'],
    program: ['methods'],
    decision: ['methods', 'wire'],
    report: ['decision', 'methods', 'wire'],
    checks: ['decision', 'methods', 'report', 'wire'],
  },
  gateway: {
    catalog: [],
    config: ['catalog'],
    upstreams: [],
    links: ['upstreams'],
    placement: ['links'],
    backends: ['catalog', 'config', 'placement', 'links', 'upstreams'],
    telemetry: [],
    parking: ['backends', 'links'],
    passthrough: ['backends', 'config', 'links', 'telemetry', 'upstreams'],
    routes: ['backends', 'placement', 'links', 'catalog', 'config', 'parking', 'passthrough', 'telemetry'],
    admin: ['backends', 'config', 'telemetry'],
    workers: ['admin', 'config', 'telemetry'],
  },
  cli: { options: [], output: [], login: [], serving: ['output'], commands: ['options', 'output', 'serving'] },
}
