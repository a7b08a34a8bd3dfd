import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createNames, type CatalogNames, type NamedServer } from './index.ts'

function named(...names: readonly (string | NamedServer)[]): CatalogNames {
  return createNames(names.map((name) => (typeof name === 'string' ? { name } : name)))
}

describe('a tool is listed as', () => {
  test.each<[string, CatalogNames, string, string, string]>([
    ['its server and its name', named('github'), 'github', 'search', 'github_search'],
    ['its server with underscores', named('my_db'), 'my_db', 'run_query', 'my_db_run_query'],
    ['its server in plain characters', named('Søk på nett!'), 'Søk på nett!', 'find', 'S-k-pa-nett_find'],
    ['its server with the dots as dashes', named('example.com'), 'example.com', 'a.b-c', 'example-com_a.b-c'],
    ['a server without any plain character', named('検索'), '検索', 'find', 'server_find'],
    ['the prefix of the entry', named({ name: 'a', prefix: 'my_A' }), 'a', 'find', 'my_A_find'],
    ['its bare name', named({ name: 'a', prefix: false }, 'b'), 'a', 'find_it', 'find_it'],
    [
      'its bare name with a digest, where it looks like one of another server',
      named({ name: 'a', prefix: false }, 'b'),
      'a',
      'b_c',
      'b-c-xd62b695e76',
    ],
    [
      'the beginning of a long name, with a digest',
      named('a'),
      'a',
      'x'.repeat(63),
      'a_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-x349ce33d12',
    ],
    ['the longest that fits', named('a'), 'a', 'x'.repeat(62), `a_${'x'.repeat(62)}`],
    ['a name in plain characters, with a digest', named('a'), 'a', 'lies/löschen', 'a_lies-l-schen-xe055eb12b9'],
    ['a name that has a digest already, with another', named('a'), 'a', 'b-x0123456789', 'a_b-x0123456789-x8bc11efe29'],
    ['an empty name, with a digest', named('a'), 'a', '', 'a_-x12ae32cb1e'],
  ])('%s', (_, names, server, name, exposed) => {
    expect(names.exposed(server, name)).toBe(exposed)
    const resolved = names.resolve(exposed)
    expect(resolved?.server).toBe(server)
    expect(resolved?.kind === 'name' ? resolved.name === name : resolved?.matches(name)).toBe(true)
  })
})

describe('the prefixes of servers that could be taken for each other differ', () => {
  test.each<[string, readonly string[], Record<string, string>]>([
    ['one begins like the other', ['a', 'a_b'], { a: 'a', a_b: 'a-b' }],
    ['only where an underscore follows', ['a', 'ab', 'a-b'], { a: 'a', ab: 'ab', 'a-b': 'a-b' }],
    ['the dashes are another server', ['a', 'a_b', 'a-b'], { a: 'a', 'a-b': 'a-b', a_b: 'a-b-9af4fb' }],
    ['a chain', ['a_b_c', 'a_b', 'a'], { a: 'a', a_b: 'a-b', a_b_c: 'a-b-c' }],
    [
      'the same plain characters',
      ['my server', 'my-server'],
      { 'my-server': 'my-server', 'my server': 'my-server-c55f1a' },
    ],
    ['upper and lower case', ['Git', 'git'], { Git: 'Git', git: 'git' }],
    ['cut at the same place', ['s'.repeat(40), 's'.repeat(41)], { ['s'.repeat(40)]: 's'.repeat(32) }],
  ])('%s', (_, servers, prefixes) => {
    const names = named(...servers)
    for (const [server, prefix] of Object.entries(prefixes)) expect(names.prefix(server)).toBe(prefix)
    expect(new Set(servers.map((server) => names.prefix(server))).size).toBe(servers.length)
    const reversed = named(...servers.toReversed())
    for (const server of servers) expect(reversed.prefix(server)).toBe(names.prefix(server))
  })

  test('one that the entry gives stays as it is', () => {
    const names = named('a', { name: 'b', prefix: 'a_b' })
    expect(names.prefix('b')).toBe('a_b')
    expect(names.exposed('a', 'b_c')).not.toBe(names.exposed('b', 'c'))
    expect(names.resolve(names.exposed('a', 'b_c'))).toMatchObject({ server: 'a', name: 'b_c' })
  })
})

test.each(['search', 'b_search', 'a', 'a_', 'a_b c', `a_${'x'.repeat(63)}`, ''])(
  'nothing is called "%s"',
  (exposed) => {
    expect(named('a').resolve(exposed)).toBeUndefined()
  },
)

const word = fc.oneof(
  fc.stringMatching(/^[ab_-]{1,5}$/),
  fc.stringMatching(/^[ab_.-]{1,70}$/),
  fc.string({ unit: 'grapheme', maxLength: 80 }),
  fc.constantFrom('\ud800', '\ud801'),
  fc.stringMatching(/^[ab_]{0,3}-x[0-9a-f]{10}$/),
)
const servers = fc.uniqueArray(
  word.filter((name) => name !== ''),
  { minLength: 1, maxLength: 6 },
)
const tools = fc.uniqueArray(word, { minLength: 1, maxLength: 8 })

test('names are different, short and plain, and lead back, whatever servers and tools are called', () => {
  fc.assert(
    fc.property(servers, tools, fc.boolean(), (all, own, hasBare) => {
      const names = createNames(all.map((name, at) => (hasBare && at === 0 ? { name, prefix: false } : { name })))
      const pairs = all.flatMap((server) => own.map((tool) => ({ server, tool, exposed: names.exposed(server, tool) })))
      const wrong = pairs.filter(({ server, tool, exposed }) => {
        const resolved = names.resolve(exposed)
        const found = resolved?.kind === 'name' ? [resolved.name] : own.filter((each) => resolved?.matches(each))
        const leadsBack = resolved?.server === server && found.length === 1 && found[0] === tool
        return !leadsBack || !/^[A-Za-z0-9_.-]{1,64}$/.test(exposed)
      })
      expect(wrong).toEqual([])
      expect(new Set(pairs.map(({ exposed }) => exposed)).size).toBe(pairs.length)
    }),
    { numRuns: 300 },
  )
})

test('a prefix does not depend on the order of the servers', () => {
  fc.assert(
    fc.property(servers, (all) => {
      const [names, others] = [named(...all), named(...all.toReversed())]
      return all.every((server) => others.prefix(server) === names.prefix(server))
    }),
    { numRuns: 200 },
  )
})
