import { expect, test } from 'vitest'
import { toolsResult } from './tools.ts'

const tool = (name: string, description = '', properties: object = {}) => ({
  name,
  description,
  inputSchema: { type: 'object', properties },
})

test.each([
  ['a browser', [tool('browser_navigate'), tool('browser_click'), tool('browser_close')]],
  ['a connection', [tool('connect_db'), tool('query', 'Runs SQL on the connected database.')]],
  ['a shell', [tool('start_session'), tool('send_input', 'Writes to it.', { session_id: {} }), tool('list_sessions')]],
  ['thoughts', [tool('think', 'Thinks.', { thoughtNumber: {}, nextThoughtNeeded: {} })]],
  ['what it runs', [tool('devserver_start', 'Starts it in this process.'), tool('devserver_stop')]],
  ['its memory', [tool('add_word', 'Adds a word to the in-memory dictionary.'), tool('list_words'), tool('reset')]],
  ['turns', [tool('new_game'), tool('make_move', 'Moves.', { to: {} }), tool('get_game_state')]],
  [
    'a key',
    [tool('paint', 'Paints.', { prompt: {} }), tool('set_api_key', 'Takes it.', { key: {} }), tool('show_key')],
  ],
  ['steps', [tool('assess', 'Assesses.', { claim: {}, nextAssessmentNeeded: {} })]],
  ['a folder', [tool('set_working_dir', 'Sets it for subsequent calls.'), tool('commit')]],
])('tools that speak of %s are said to keep something', (_, tools) => {
  const { state, details, confidence } = toolsResult(tools)
  expect(state).toBe('STATEFUL')
  expect(details['because']).not.toEqual([])
  expect(confidence).toBeLessThanOrEqual(0.9)
})

test('tools that read and write elsewhere are said to keep nothing', () => {
  const tools = [tool('search_issues'), tool('get_issue'), tool('create_issue', 'Creates an issue in the tracker.')]
  expect(toolsResult(tools)).toMatchObject({
    method: 'tools',
    state: 'STATELESS',
    confidence: 0.9,
    message: 'Its tools say nothing of anything that is kept between calls.',
  })
})

test('resources beside the tools speak for something that is kept', () => {
  const tools = [tool('render_chart', 'Renders it.')]
  const probabilities = [{}, { resources: {} }].map((capabilities) => toolsResult(tools, capabilities).details)
  const [without = 0, beside = 0] = probabilities.map(({ probability }) => Number(probability))
  expect(beside).toBeGreaterThan(without)
})

test('where there are no tools nothing is said', () => {
  expect(toolsResult([])).toMatchObject({ state: 'UNKNOWN', confidence: 0 })
})

test('the evidence names the tools, and no more than four', () => {
  const tools = ['navigate', 'click', 'hover', 'scroll', 'tap', 'swipe'].map((name) =>
    tool(name, 'Acts on the current page.', { selector: {} }),
  )
  expect(toolsResult(tools).message).toBe(
    'There are tools that act on a page or a screen, one after the other: navigate, click, hover, scroll, and 2 more.',
  )
})

test('anything in the place of a tool is read without harm', () => {
  const odd = [
    {},
    { name: 7 },
    { name: 'x', inputSchema: [] },
    { name: 'y', inputSchema: { properties: 7, required: 7 } },
  ]
  expect(toolsResult(odd).state).toBe('STATELESS')
})
