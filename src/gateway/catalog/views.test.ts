import { describe, expect, test } from 'vitest'
import { applyView, createNames, nameBehindView, unknownInView, type View } from './index.ts'

const all = ['crm_find', 'crm_delete', 'tickets_search', 'tickets_close', 'find'].map((name) => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: 'object' },
  'x-own': { kept: true },
}))

function view(given: Partial<View>): View {
  return { tools: ['*'], deny: [], rename: {}, descriptions: {}, ...given }
}

describe('a view serves', () => {
  test.each<[string, Partial<View>, Record<string, string>]>([
    ['everything', {}, Object.fromEntries(all.map(({ name }) => [name, name]))],
    [
      'what is allowed',
      { tools: ['crm_*', 'tickets_search'] },
      { crm_find: 'crm_find', crm_delete: 'crm_delete', tickets_search: 'tickets_search' },
    ],
    ['what is not denied', { tools: ['crm_*'], deny: ['*_delete'] }, { crm_find: 'crm_find' }],
    ['nothing', { tools: [] }, {}],
    ['a tool under another name', { tools: ['crm_find'], rename: { crm_find: 'look' } }, { look: 'crm_find' }],
    [
      'the tool that was given a name, not the one that had it',
      { tools: ['*find'], rename: { crm_find: 'find' } },
      { find: 'crm_find' },
    ],
    [
      'names that were swapped',
      { tools: ['*find'], rename: { crm_find: 'find', find: 'crm_find' } },
      { find: 'crm_find', crm_find: 'find' },
    ],
    ['a name that was given to a tool outside', { tools: ['find'], rename: { crm_find: 'find' } }, { find: 'find' }],
  ])('%s', (_, given, expected) => {
    const tools = applyView(view(given), all)
    expect(Object.fromEntries(tools.map(({ name }) => [name, nameBehindView(view(given), String(name))]))).toEqual(
      expected,
    )
    for (const { name } of all.filter((tool) => !Object.hasOwn(expected, tool.name)))
      expect(nameBehindView(view(given), name)).toBeUndefined()
  })
})

test('a description of one\u2019s own replaces that of the server, and nothing else', () => {
  const [tool] = applyView(view({ tools: ['crm_find'], descriptions: { crm_find: 'Ours.' } }), all)
  expect(tool).toEqual({ ...all[0], description: 'Ours.' })
})

test('a name of every object is no name of one\u2019s own', () => {
  expect(nameBehindView(view({}), 'constructor')).toBe('constructor')
})

test('names in a view that no tool has are found, where the tools of the server are known', () => {
  const names = createNames([{ name: 'crm' }, { name: 'down' }])
  const long = 'x'.repeat(80)
  const toolsOf = (server: string) => (server === 'crm' ? ['find', long] : undefined)
  const rename = { crm_find: 'a', crm_fnd: 'b', down_any: 'c', other_any: 'd', [names.exposed('crm', long)]: 'e' }
  const descriptions = { crm_fnd: 'Finds.', crm_gone: 'Goes.' }
  expect(unknownInView(view({ rename, descriptions }), names, toolsOf)).toEqual(['crm_fnd', 'crm_gone'])
})
