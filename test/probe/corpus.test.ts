/** The corpus: what it counts and how it tells it. The servers themselves are asked by `npm run probe:corpus`. */
import { KNOWN_SERVERS, METHODS } from 'pannier/probe'
import { describe, expect, test } from 'vitest'
import type { Configuration, Truth } from '../../probe-corpus/configuration.ts'
import { CONFIGURATIONS } from '../../probe-corpus/configurations/all.ts'
import type { JudgedServer, Judgement } from '../../probe-corpus/judge.ts'
import { limitFaults, type Limits } from '../../probe-corpus/limits.ts'
import { resultsPage, withResults } from '../../probe-corpus/resultsPage.ts'
import { accuracyOf, matrixOf, medianOf, percentOf } from '../../probe-corpus/confusionMatrix.ts'
import { accuracyRows, matrixRows, serverRows } from '../../probe-corpus/tables.ts'
import { SESSION_FREQUENCIES } from '../../src/probe/decision/twoFindings.ts'
import { readText } from '../../scripts/repository.ts'

const limits: Limits = { requests: 8, medianMs: 20, slowestMs: 900, tenMs: 1_000 }

const says = (state: Judgement['state'], ms = 10): Judgement => ({ state, by: 'sequential', confidence: 0.9, ms })

function judged(name: string, truth: Truth, [one, two, three, all]: readonly Judgement['state'][]): JudgedServer {
  const configuration: Configuration = {
    name,
    version: '1.2.3',
    launch: { args: [] },
    truth,
    because: 'It is a|so.',
    proof: { requests: [] },
  }
  const [sequential, capabilities, metadata, combined] = [one, two, three, all].map((state) => says(state ?? 'UNKNOWN'))
  const unknown = says('UNKNOWN')
  return {
    configuration,
    judgements: {
      sequential: sequential ?? unknown,
      capabilities: capabilities ?? unknown,
      metadata: metadata ?? unknown,
      tools: unknown,
      program: unknown,
      documented: unknown,
      combined: combined ?? unknown,
      nameless: says('STATELESS', 30),
    },
    requests: 8,
    faults: [],
  }
}

const ALL = [
  judged('a', 'STATELESS', ['STATELESS', 'UNKNOWN', 'STATEFUL', 'STATELESS']),
  judged('b', 'STATEFUL', ['STATELESS', 'UNKNOWN', 'STATEFUL', 'STATEFUL']),
]

describe('a matrix', () => {
  const matrix = matrixOf([
    { truth: 'STATELESS', state: 'STATELESS' },
    { truth: 'STATELESS', state: 'STATELESS' },
    { truth: 'STATELESS', state: 'STATEFUL' },
    { truth: 'STATEFUL', state: 'STATEFUL' },
    { truth: 'STATEFUL', state: 'UNKNOWN' },
  ])

  test('counts what was said of what', () => {
    expect(matrix).toEqual({
      STATELESS: { STATELESS: 2, STATEFUL: 1, UNKNOWN: 0 },
      STATEFUL: { STATELESS: 0, STATEFUL: 1, UNKNOWN: 1 },
    })
  })

  test('gives the accuracy, in which UNKNOWN is not right', () => {
    expect(accuracyOf(matrix)).toEqual({ all: 5, decided: 4, right: 3 })
  })
})

test.each([
  [1, 2, '50 %'],
  [2, 3, '67 %'],
  [0, 3, '0 %'],
  [3, 3, '100 %'],
  [999, 1000, '99 %'],
  [0, 0, '–'],
])('%i of %i is %s', (part, whole, text) => {
  expect(percentOf(part, whole)).toBe(text)
})

test.each([
  [[3, 1, 2], 2],
  [[4, 1, 3, 2], 2.5],
  [[7], 7],
])('the median of %j is %f', (values, median) => {
  expect(medianOf(values)).toBe(median)
})

describe('the results', () => {
  test('say of each server what each method said, and how long that took', () => {
    const verdicts = ['STATELESS', 'UNKNOWN', 'STATEFUL', 'STATEFUL']
    const times = Array.from({ length: 4 }, () => '10 ms')
    expect(serverRows(ALL)[2]).toEqual(['b', 'STATEFUL', ...verdicts, 'sequential', ...times])
  })

  test('have a matrix for each method, for all of them, and without names', () => {
    const rows = matrixRows(ALL)
    expect(rows).toHaveLength(1 + 8 * 2)
    expect(rows[1]).toEqual(['method 1, sequential connection test', 'STATELESS', '1', '0', '0'])
    expect(rows[2]).toEqual(['method 1, sequential connection test', 'STATEFUL', '1', '0', '0'])
  })

  test('have the accuracy beside the stated one', () => {
    const cells = accuracyRows(ALL).map((row) => row.slice(1))
    expect(cells.slice(1)).toEqual([
      ['99 %', '50 % (1 of 2)', '50 % (1 of 2)', '10 ms', '10 ms'],
      ['70 %', '0 % (0 of 2)', '– (0 of 0)', '10 ms', '10 ms'],
      ['50 %', '50 % (1 of 2)', '50 % (1 of 2)', '10 ms', '10 ms'],
      [percentOf(METHODS.tools.accuracy, 1), '0 % (0 of 2)', '– (0 of 0)', '10 ms', '10 ms'],
      [percentOf(METHODS.program.accuracy, 1), '0 % (0 of 2)', '– (0 of 0)', '10 ms', '10 ms'],
      ['', '0 % (0 of 2)', '– (0 of 0)', '10 ms', '10 ms'],
      ['', '100 % (2 of 2)', '100 % (2 of 2)', '10 ms', '10 ms'],
      ['', '50 % (1 of 2)', '50 % (1 of 2)', '30 ms', '30 ms'],
    ])
  })

  test('are written into the page, with what is wrong in bold', () => {
    const page = withResults(
      '# A\n\n<!-- corpus: begin -->\nstale\n<!-- corpus: end -->\n\nZ\n',
      resultsPage(ALL, limits),
    )
    expect(page).toMatch(/^# A\n\n<!-- corpus: begin -->\n\n### Accuracy/)
    expect(page).toMatch(/\n\n<!-- corpus: end -->\n\nZ\n$/)
    expect(page).not.toContain('stale')
    expect(page).toContain(
      '| b (1.2.3) | STATEFUL | It is a\\|so. | **STATELESS** | **UNKNOWN** | STATEFUL | STATEFUL | sequential | 10 ms |',
    )
    expect(() => withResults('# A', 'x')).toThrow('has no place for results')
  })
})

test('what is said of sessions is as sure as it was right for the servers of the page', () => {
  const rows = readText('docs/reference/probe-accuracy.md').matchAll(/^\| (\w+): (\w+) \| .* \| (\d+) \| (\d+) \|$/gm)
  const counts = { STATELESS: { right: 0, servers: 0 }, STATEFUL: { right: 0, servers: 0 } }
  for (const [, by, state, servers, right] of rows) {
    // Where tools or files decide, behaviour said that no session is needed.
    const count = counts[by !== 'tools' && by !== 'program' && state === 'STATEFUL' ? 'STATEFUL' : 'STATELESS']
    count.servers += Number(servers)
    count.right += Number(right)
  }
  expect(SESSION_FREQUENCIES).toEqual(counts)
})

test('a limit that does not hold is told', () => {
  expect(limitFaults(limits)).toEqual([])
  const faults = limitFaults({ requests: 9, medianMs: 300, slowestMs: 900, tenMs: 1_901 })
  expect(faults).toEqual([
    'A server got 9 requests.',
    'A server that answers at once took 300 ms.',
    'Ten servers took 1901 ms, the slowest of them 900 ms.',
  ])
})

describe('the servers of the corpus', () => {
  test('are many, of both kinds, each with a name of its own and a reason', () => {
    const names = CONFIGURATIONS.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    for (const truth of ['STATELESS', 'STATEFUL'] as const) {
      expect(CONFIGURATIONS.filter((one) => one.truth === truth).length).toBeGreaterThanOrEqual(15)
    }
    for (const { name, because } of CONFIGURATIONS) expect(because, name).toMatch(/^[A-Z].*\.$/)
  })

  test('are all in the page', () => {
    const page = readText('docs/reference/probe-accuracy.md')
    for (const { name, because } of CONFIGURATIONS) {
      expect(page).toContain(`| ${name} (`)
      expect(page).toContain(because)
    }
  })

  // The first two are not in npm; the others are images of servers that are.
  const elsewhere = [
    'github-mcp-server',
    'serena-mcp-server',
    'mcp/puppeteer',
    'mcp/sequentialthinking',
    'mcp/everything',
  ]

  test.each(KNOWN_SERVERS.filter(({ match }) => !elsewhere.includes(match)))(
    'hold the known server $match against its package',
    ({ match, state }) => {
      const found = CONFIGURATIONS.filter(({ launch }) => launch.path === undefined && launch.args[0]?.includes(match))
      expect(found.map(({ truth }) => truth)).toEqual([state])
    },
  )
})
