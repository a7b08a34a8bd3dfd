/** The judgement and the tables of `npm run interop`. The clients themselves run there. */
import { describe, expect, test } from 'vitest'
import { WHATS, type What } from '../../interop/checks.ts'
import { CLIENTS, legsOf } from '../../interop/clients.ts'
import type { Era, Place } from '../../interop/driver.ts'
import { EXPECTED } from '../../interop/expected.ts'
import { type Expectation, judgeLeg } from '../../interop/judge.ts'
import type { LegResult, Outcome } from '../../interop/outcome.ts'
import { resultsPage, withResults } from '../../interop/page.ts'
import { placeRows, reasonRows } from '../../interop/tables.ts'
import { listFiles, readText } from '../../scripts/repository.ts'

interface Run {
  readonly place?: Place
  readonly era?: Era
  readonly spoke?: Era
  /** What each check saw that did not pass. */
  readonly failed?: Partial<Record<What, string>>
}

function run({ place = 'http', era, spoke = 'session', failed = {} }: Run): LegResult {
  const outcomes = WHATS.map((what): Outcome => {
    const saw = failed[what]
    return saw === undefined ? { what, works: true } : { what, works: false, saw }
  })
  return { client: 'a', place, era, spoke, outcomes }
}

const NO_SAMPLING: Expectation = {
  client: 'a',
  whats: ['sample'],
  whose: 'not offered',
  saw: 'declares: sampling',
  because: 'It has no sampling.',
}
const failed = { sample: 'This needs a client that declares: sampling.' }

describe('a run with a client', () => {
  test('is as expected where everything works', () => {
    const { cells, differences } = judgeLeg(run({}), [])
    expect(differences).toEqual([])
    expect(cells).toEqual(WHATS.map(() => ({ kind: 'yes' })))
  })

  test('is as expected where only that fails which is known to, in the known way', () => {
    const { cells, differences } = judgeLeg(run({ failed }), [NO_SAMPLING])
    expect(differences).toEqual([])
    expect(cells[WHATS.indexOf('sample')]).toEqual({ kind: 'not offered', because: 'It has no sampling.' })
  })

  test.each<[string, Run, readonly Expectation[], string]>([
    ['something fails', { failed }, [], 'a http: sample does not work as expected. This needs'],
    ['it fails in another way', { failed: { sample: 'Nothing came.' } }, [NO_SAMPLING], 'expected. Nothing came.'],
    ['another thing fails', { failed: { ...failed, call: 'No.' } }, [NO_SAMPLING], 'call does not work'],
    ['something works that did not', {}, [NO_SAMPLING], 'sample works, which was not expected.'],
    ['it fails at another place', { failed }, [{ ...NO_SAMPLING, places: ['stdio'] }], 'sample does not work'],
    ['it fails in another era', { failed }, [{ ...NO_SAMPLING, eras: ['stateless'] }], 'sample does not work'],
    ['it fails with another client', { failed }, [{ ...NO_SAMPLING, client: 'b' }], 'sample does not work'],
    ['it speaks another era than it was told', { era: 'stateless' }, [], 'spoke the other one'],
  ])('is not as expected where %s', (_, what, expectations, difference) => {
    expect(judgeLeg(run(what), expectations).differences.join('\n')).toContain(difference)
  })
})

describe('the results', () => {
  const legs = [
    judgeLeg(run({ failed }), [NO_SAMPLING]),
    judgeLeg(run({ place: 'two', spoke: 'stateless', failed: { ...failed, call: 'a|b' } }), [NO_SAMPLING]),
  ]

  test('have a row for each client at a place', () => {
    expect(placeRows('two', legs)).toEqual([
      ['client', 'era', ...WHATS],
      ['a', 'stateless', 'yes', 'yes', '**no**', 'yes', 'not offered', 'yes', 'yes', 'yes'],
    ])
    expect(placeRows('stdio', legs)).toHaveLength(1)
  })

  test('give each reason once, with all it explains', () => {
    expect(reasonRows(legs).slice(1)).toEqual([
      ['a', 'sample', 'http, session; two, stateless', 'not offered', 'It has no sampling.'],
      ['a', 'call', 'two, stateless', 'unexpected', 'a|b'],
    ])
  })

  test('are written into the page', () => {
    const page = '# A\n\n<!-- interop: begin -->\nstale\n<!-- interop: end -->\n\nZ\n'
    const written = withResults(page, resultsPage(legs, [['a', 'a-package', '1.2.3']]))
    expect(written).toMatch(/^# A\n\n<!-- interop: begin -->\n\n### One instance over HTTP/)
    expect(written).toMatch(/\n\n<!-- interop: end -->\n\nZ\n$/)
    expect(written).not.toContain('stale')
    expect(written).toContain('| a | call | two, stateless | unexpected | a\\|b |')
    expect(written).toContain('| a | a-package | 1.2.3 |')
    expect(() => withResults('# A', 'x')).toThrow('has no place for results')
  })
})

describe('the clients', () => {
  const folders = new Set(listFiles().flatMap((path) => /^interop\/clients\/([^/]+)\//.exec(path)?.[1] ?? []))

  test('are those that have a folder, with the package that is tried, pinned', () => {
    expect(new Set(CLIENTS.map(({ name }) => name))).toEqual(folders)
    for (const { name, package: tried } of CLIENTS) {
      const { dependencies } = JSON.parse(readText(`interop/clients/${name}/package.json`)) as {
        dependencies: Record<string, string>
      }
      expect(Object.keys(dependencies), name).toContain(tried)
      for (const version of Object.values(dependencies)) expect(version, name).toMatch(/^\d+\.\d+\.\d+$/)
    }
  })

  test('are all in the page, and none of its cells is unexplained', () => {
    const page = readText('docs/reference/interop.md')
    for (const { name } of CLIENTS) expect(page).toContain(`| ${name} |`)
    expect(page).not.toContain('**no**')
    expect(page).not.toContain('| unexpected |')
  })

  test.each(EXPECTED)('fail where it is expected for a reason: $client $whats', (expectation) => {
    const { client, places = [], because, saw } = expectation
    const tried = CLIENTS.filter(({ name }) => name === client).flatMap(legsOf)
    expect(tried).not.toEqual([])
    for (const place of places) expect(tried.map((leg) => leg.place)).toContain(place)
    expect(because).toMatch(/^[A-Z].*\.$/)
    expect(saw).not.toBe('')
  })
})
