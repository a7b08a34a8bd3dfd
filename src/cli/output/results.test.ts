import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CallToolResult } from '@modelcontextprotocol/client'
import { afterAll, describe, expect, test } from 'vitest'
import { describeMedium, saveMedium, promptText, resourceText, toolText } from './results.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-save-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const data = Buffer.from('picture').toString('base64')
const tool = (result: CallToolResult) => toolText('draw', result, describeMedium)

describe('a result of a tool', () => {
  test.each<[string, CallToolResult, string]>([
    ['text as it is', { content: [{ type: 'text', text: 'a\n\tb  c' }] }, 'a\n\tb  c'],
    ['no content', { content: [] }, ''],
    [
      'several texts',
      {
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      'a\nb',
    ],
    ['structured content', { content: [], structuredContent: { sum: 3 } }, '{\n  "sum": 3\n}'],
    [
      'structured content that is repeated as text',
      { content: [{ type: 'text', text: '{"sum":3}' }], structuredContent: { sum: 3 } },
      '{\n  "sum": 3\n}',
    ],
    [
      'an image',
      { content: [{ type: 'image', data, mimeType: 'image/png' }] },
      '[image image/png, 7 B; see it with --save DIR]',
    ],
    [
      'a resource',
      { content: [{ type: 'resource', resource: { uri: 'a://b', text: 'inside' } }] },
      '--- a://b\ninside',
    ],
    [
      'a link',
      { content: [{ type: 'resource_link', uri: 'a://b', name: 'b', title: 'The B' }] },
      '[link] The B: a://b',
    ],
  ])('%s', async (_, result, text) => {
    expect(await tool(result)).toBe(text)
  })

  test('never steers a terminal', async () => {
    const nasty = '\u001b[2J\u009b1m\u202e'
    const text = await tool({
      content: [
        { type: 'text', text: nasty },
        { type: 'image', data, mimeType: `image/${nasty}` },
        { type: 'resource', resource: { uri: `a://${nasty}`, text: nasty } },
        { type: 'resource_link', uri: nasty, name: nasty },
      ],
      structuredContent: { [nasty]: nasty },
    })
    expect(text).not.toMatch(/(?!\n)[\p{Cc}\p{Bidi_Control}]/u)
  })
})

test('a prompt shows who says what', async () => {
  const messages = [
    { role: 'user' as const, content: { type: 'text' as const, text: 'Cook!' } },
    { role: 'assistant' as const, content: { type: 'text' as const, text: 'Yes.' } },
  ]
  expect(await promptText('recipe', { description: 'About soup', messages }, describeMedium)).toBe(
    'About soup\n\nuser:\nCook!\n\nassistant:\nYes.',
  )
})

test('one text of a resource is shown alone, several have headings', async () => {
  const one = { uri: 'a://1', text: 'one' }
  expect(await resourceText({ contents: [one] }, describeMedium)).toBe('one')
  const both = await resourceText({ contents: [one, { uri: 'a://2', blob: data }] }, describeMedium)
  expect(both).toBe('--- a://1\none\n--- a://2\n[blob, 7 B; see it with --save DIR]')
})

describe('saving', () => {
  const save = saveMedium(folder)
  const medium = (name: string, mimeType = 'image/png') => ({ kind: 'image', data, mimeType, name })

  test('writes a file, and never over another', async () => {
    expect(await save(medium('draw'))).toBe(`[image saved to ${join(folder, 'draw.png')}, 7 B]`)
    expect(await save(medium('draw'))).toMatch(/draw-2\.png/)
    expect(readFileSync(join(folder, 'draw-2.png'), 'utf8')).toBe('picture')
  })

  test.each([
    ['../../etc/passwd', 'passwd.png'],
    ['a://host/photo.jpg', 'photo.jpg'],
    ['.bashrc', 'bashrc.png'],
    ['..', 'content.png'],
    ['-rf', 'rf.png'],
    ['a\u001b[2Jb', 'a_2Jb.png'],
    ['C:\\Windows\\win.ini', 'win.ini'],
    ['日本', '日本.png'],
  ])('under the name %j becomes %s, inside the folder', async (name, file) => {
    await save(medium(name))
    expect(readdirSync(folder)).toContain(file)
  })

  test('into a folder that is not there is refused', async () => {
    await expect(saveMedium(join(folder, 'none'))(medium('a'))).rejects.toThrow(/ENOENT/)
  })
})
