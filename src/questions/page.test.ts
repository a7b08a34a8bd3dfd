import { expect, test } from 'vitest'
import { readFields } from './fields.ts'
import { noticePage, questionPage } from './page.ts'

const HOSTILE = `"></blockquote></form><script>alert(1)</script><img src=x onerror='alert(1)'>&amp;`

const schema = {
  type: 'object',
  properties: {
    [HOSTILE]: { type: 'string', title: HOSTILE, description: HOSTILE, default: HOSTILE },
    choice: { type: 'string', enum: [HOSTILE], default: HOSTILE },
    choices: { type: 'array', items: { enum: [HOSTILE] } },
    number: { type: 'number', minimum: HOSTILE, title: HOSTILE },
    long: { type: 'string', maxLength: 1000, default: HOSTILE },
  },
}

test('texts of a server stay text: no tag, attribute or entity of theirs is in the page', () => {
  const fields = readFields(schema)
  const entered = new URLSearchParams([[`field.${HOSTILE}`, HOSTILE]])
  const issues = new Map([[HOSTILE, HOSTILE]])
  const view = { server: HOSTILE, tool: HOSTILE, message: HOSTILE, fields, expiresAt: 0, entered, issues }
  for (const page of [
    questionPage(view),
    questionPage({ ...view, entered: undefined }),
    noticePage(HOSTILE, HOSTILE),
  ]) {
    expect(page).not.toMatch(/<script|<img|onerror='|&amp;amp;amp/)
    expect(page.match(/<\/?(blockquote|form)\b/g)?.length ?? 0).toBeLessThanOrEqual(4)
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
    const { length: opened } = page.match(/<[a-z]/g) ?? []
    expect(page.match(/[<]/g)).toHaveLength(opened + (page.match(/<[/!]/g)?.length ?? 0))
  }
})

test('what was entered stays in the form, beside what was wrong with it', () => {
  const fields = readFields({ properties: { size: { type: 'integer', maximum: 5 }, mode: { type: 'boolean' } } })
  const entered = new URLSearchParams({ 'field.size': '9', 'field.mode': 'no' })
  const issues = new Map([['size', 'Enter 5 or less.']])
  const page = questionPage({ server: 's', tool: 't', message: 'm', fields, expiresAt: null, entered, issues })
  expect(page).toMatch(/<p class="wrong">Enter 5 or less\.<\/p>/)
  expect(page).toMatch(/name="field.size"[^>]*value="9"/)
  expect(page).toMatch(/value="no"\s+checked/)
  expect(page).not.toMatch(/value="yes"\s+checked/)
})
