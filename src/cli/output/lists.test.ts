import { expect, test } from 'vitest'
import { promptsText, resourcesText, toolsText } from './lists.ts'

test('tools are shown with what they take', () => {
  const inputSchema = {
    type: 'object' as const,
    required: ['path', 'mode'],
    properties: {
      path: { type: 'string', description: 'Where\nto look' },
      mode: { enum: ['fast', 2] },
      tags: { type: 'array', items: { type: 'string' } },
      sizes: { type: 'array', items: { enum: ['s', 'm'] } },
      kinds: { type: 'array', items: { anyOf: [{ const: 'x' }, { const: 'y' }] } },
      limit: { anyOf: [{ type: 'number' }, { type: 'null' }] },
      point: { $ref: '#/$defs/point' },
      kind: { const: 'a' },
      rest: true,
    },
  }
  const tools = [{ name: 'search', title: 'Search files', description: 'Looks.\nEverywhere.', inputSchema }]
  expect(toolsText(tools as never)).toBe(
    [
      'search  Search files',
      '  Looks.',
      '  Everywhere.',
      '    path: string  Where to look',
      '    mode: "fast" | 2',
      '    tags?: string[]',
      '    sizes?: ("s" | "m")[]',
      '    kinds?: ("x" | "y")[]',
      '    limit?: number | null',
      '    point?: point',
      '    kind?: "a"',
      '    rest?: any',
    ].join('\n'),
  )
})

test('prompts, resources and templates are shown, and their absence', () => {
  expect(promptsText([{ name: 'recipe', arguments: [{ name: 'dish', required: true }, { name: 'for' }] }])).toBe(
    'recipe\n    dish: string\n    for?: string',
  )
  expect(
    resourcesText(
      [{ uri: 'menu://today', name: 'menu', mimeType: 'text/plain' }],
      [{ uriTemplate: 'menu://{day}', name: 'menu of a day' }],
    ),
  ).toBe('menu://today  menu (text/plain)\n\nmenu://{day}  menu of a day')
  expect(toolsText([])).toBe('The server has no tools.')
})

test('nothing of it steers a terminal', () => {
  const nasty = '\u001b[2J\r\u009b\u202e'
  const text = toolsText([
    {
      name: nasty,
      title: nasty,
      description: nasty,
      inputSchema: { type: 'object', properties: { [nasty]: { enum: [nasty], description: nasty } } },
    },
  ])
  expect(text).not.toMatch(/(?!\n)[\p{Cc}\p{Bidi_Control}]/u)
})
