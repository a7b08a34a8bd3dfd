import { describe, expect, test } from 'vitest'
import { type CellFacts, cellsOf, cellsText, declaredAbilities } from './cells.ts'

const MODERN: CellFacts = {
  era: 'modern',
  transport: 'http',
  isShared: true,
  has: new Set(['logs', 'tasks', 'task lists']),
  knowsCallers: true,
  gateways: 'one',
}
const NOTHING: CellFacts = { ...MODERN, has: new Set() }
const LEGACY: CellFacts = { ...MODERN, era: 'legacy' }
const APART: CellFacts = { ...NOTHING, era: 'legacy', isShared: false }
const PROCESS: CellFacts = { ...APART, transport: 'stdio' }

const LISTS = (own: string): string =>
  `lists and updates of resources are those of the gateway's own ${own}, so that what changes in a caller's alone is not seen`
const WAITING = (own: string): string =>
  `while a call that may ask is under way, others of its caller have another ${own} without what is kept in the first`
const NAMELESS = 'callers without a name share what it keeps, because nothing tells them apart'
const LOST = 'what it keeps for a caller is in one gateway, and lost when that ends'
const LOGS_ASKED = (what: string): string =>
  `log messages reach only clients that can be asked, because the others share a ${what} and a message does not name its call`
const LOGS_NOBODY = 'log messages reach no client, because callers share a process and a message does not name its call'
const NO_LIST = 'there is no tasks/list, because servers of the stateless era have none'
const NO_OWN_LIST = 'there is no tasks/list, because the owner of a task is unknown'
const OPTIONAL = 'tools that need not run as tasks never do, because clients of this era do not ask for it'
const TASK_LOST = 'a task lives in the gateway where it began, and is lost with it'
const ENDED_LOST = 'a task that ended at once lives in the gateway where it began, and is lost with it'
const STREAM = 'a session ends with its connection, because HTTP+SSE cannot resume one, and so do its calls'
const REJECTED = 'it keeps something between calls, and the gateway refuses such servers ("stateful": "reject")'

const everything = 'both eras'

/** What the table says, and then the limits for clients of the stateless era and of the session era. */
test.each<[string, CellFacts, string, readonly string[], readonly string[]]>([
  ['of the stateless era over HTTP', NOTHING, everything, [], []],
  ['of that era with tasks and logs', MODERN, `limits in tasks (sessions)`, [], [NO_LIST]],
  [
    'of that era that says it keeps something',
    { ...NOTHING, isShared: false, knowsCallers: false },
    everything,
    [],
    [],
  ],
  [
    'of that era behind several gateways',
    { ...MODERN, gateways: 'several' },
    `limits in tasks (sessions)`,
    [],
    [NO_LIST, ENDED_LOST],
  ],
  [
    'of that era as a shared process',
    { ...MODERN, transport: 'stdio' },
    `limits in logs, tasks (sessions)`,
    [LOGS_NOBODY],
    [LOGS_NOBODY, NO_LIST],
  ],
  [
    'of that era with a process for each caller',
    { ...NOTHING, transport: 'stdio', isShared: false },
    `limits in lists`,
    [LISTS('process')],
    [LISTS('process')],
  ],
  ['of the session era without sessions', { ...LEGACY, has: new Set() }, everything, [], []],
  [
    'of the session era without sessions, with everything',
    LEGACY,
    `limits in logs, tasks`,
    [LOGS_ASKED('connection'), OPTIONAL],
    [LOGS_ASKED('connection'), NO_OWN_LIST],
  ],
  [
    'of the session era as shared processes',
    { ...LEGACY, transport: 'stdio', has: new Set(['logs']) },
    `limits in logs`,
    [LOGS_ASKED('process')],
    [LOGS_ASKED('process')],
  ],
  [
    'with a session for each caller',
    APART,
    `limits in lists, memory (stateless)`,
    [LISTS('session'), WAITING('session')],
    [LISTS('session')],
  ],
  [
    'with a session for each caller, to whom it may list something else',
    { ...APART, listsDiffer: true },
    'limits in lists, memory (stateless)',
    [LISTS('session').replace('lists and ', ''), WAITING('session')],
    [LISTS('session').replace('lists and ', '')],
  ],
  [
    'with a session for each caller, and tasks that it lists',
    { ...APART, has: new Set(['logs', 'tasks', 'task lists']) },
    `limits in lists, memory (stateless), tasks (stateless)`,
    [LISTS('session'), WAITING('session'), OPTIONAL],
    [LISTS('session')],
  ],
  [
    'with a process for each caller, none of whom is known',
    { ...PROCESS, knowsCallers: false },
    `limits in lists, memory (stateless)`,
    [LISTS('process'), WAITING('process'), NAMELESS],
    [LISTS('process')],
  ],
  [
    'with a process for each caller, behind several gateways',
    { ...PROCESS, has: new Set(['tasks']), gateways: 'several' },
    `limits in lists, memory, tasks`,
    [LISTS('process'), WAITING('process'), LOST, OPTIONAL, TASK_LOST],
    [LISTS('process'), LOST, TASK_LOST],
  ],
  [
    'with a session for each caller, none of whom is known, behind several gateways',
    { ...APART, knowsCallers: false, gateways: 'several' },
    `limits in lists, memory`,
    [LISTS('session'), WAITING('session'), NAMELESS, LOST],
    [LISTS('session'), LOST],
  ],
  [
    'with a session for each caller, behind gateways with PostgreSQL',
    { ...APART, has: new Set(['tasks']), gateways: 'leased' },
    'limits in lists, memory (stateless), tasks',
    [LISTS('session'), WAITING('session'), OPTIONAL, TASK_LOST],
    [LISTS('session'), TASK_LOST],
  ],
  [
    'with a process for each caller, behind gateways with PostgreSQL',
    { ...PROCESS, gateways: 'leased' },
    'limits in lists, memory',
    [LISTS('process'), WAITING('process'), LOST],
    [LISTS('process'), LOST],
  ],
  [
    'over HTTP+SSE',
    { ...APART, transport: 'sse' },
    `limits in calls, lists, memory (stateless)`,
    [STREAM, LISTS('session'), WAITING('session')],
    [STREAM, LISTS('session')],
  ],
  ['that is refused', { ...PROCESS, isRefused: true }, 'none', [REJECTED], [REJECTED]],
])('a server %s', (_, facts, short, stateless, session) => {
  const cells = cellsOf(facts)
  expect(cellsText(cells)).toBe(short)
  expect(cells.map(({ limits }) => limits.map(({ because }) => because))).toEqual([stateless, session])
  expect(cells.map(({ client, server }) => [client, server])).toEqual([
    ['modern', facts.era],
    ['legacy', facts.era],
  ])
})

describe('a cell is a sentence', () => {
  test.each<[string, CellFacts, string, string]>([
    ['everything', NOTHING, 'everything', 'everything.'],
    ['limits', APART, 'limited', `everything, but ${LISTS('session')}; ${WAITING('session')}.`],
    ['nothing', { ...APART, isRefused: true }, 'nothing', `nothing: ${REJECTED}.`],
  ])('with %s', (_, facts, works, what) => {
    const [stateless] = cellsOf(facts)
    expect(stateless).toMatchObject({ works, sentence: `Clients of the stateless era: ${what}` })
  })

  test('for clients of the session era', () => {
    expect(cellsOf(NOTHING)[1].sentence).toBe('Clients of the session era: everything.')
  })
})

const EXTENSION = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
const TASKS = { tasks: { list: {}, requests: { tools: { call: {} } } } }

test.each<['modern' | 'legacy', object, readonly string[]]>([
  ['modern', {}, []],
  ['modern', { logging: {}, ...EXTENSION }, ['logs', 'tasks']],
  ['modern', TASKS, []],
  ['legacy', { logging: {}, ...TASKS }, ['logs', 'tasks', 'task lists']],
  ['legacy', { tasks: { requests: { tools: {} } } }, []],
  ['legacy', { ...EXTENSION, logging: true }, []],
])('a server of the era %s that declares %j has %j', (era, capabilities, has) => {
  expect([...declaredAbilities(era, { ...capabilities })]).toEqual(has)
})
