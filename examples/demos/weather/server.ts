/** The tools of SEP-2322's ephemeral workflow: one asks a person, the other a person and the client's model at once. */
import { createServer } from 'pannier/server'
import * as z from 'zod'
import { listenAsInstance } from '../listen.ts'

const server = createServer({ name: 'weather', version: '1.0.0', title: `Instance ${process.env['INSTANCE']}` })
const about = { description: 'Tells the weather.', input: z.object({ location: z.string() }) }
const loginForm = {
  mode: 'form',
  message: 'Please provide your GitHub username',
  schema: z.object({ name: z.string() }),
} as const

// #region weather
server.tool('get_weather', about, async ({ location }, ctx) => {
  await ctx.ask('github_login', loginForm)
  const text = `Current weather in ${location}:\nTemperature: 72°F\nConditions: Partly cloudy`
  return { content: [{ type: 'text', text }], isError: false }
})
// #endregion weather

// A question without a pin needs no state: its answer counts whenever it comes. The document shows both.
server.tool('get_weather_without_state', about, async (_, ctx) => {
  const { name } = await ctx.ask('github_login', { ...loginForm, pin: false })
  return `Hello ${name}`
})

// #region both
server.tool('introduce', { description: 'Asks a person and a model.' }, async (_, ctx) => {
  const [{ name }, { content }] = await Promise.all([
    ctx.ask('github_login', loginForm),
    ctx.sample('capital_of_france', {
      messages: [{ role: 'user', content: { type: 'text', text: 'What is the capital of France?' } }],
      modelPreferences: {
        hints: [{ name: 'claude-3-sonnet' }],
        intelligencePriority: 0.8,
        speedPriority: 0.5,
      },
      systemPrompt: 'You are a helpful assistant.',
      maxTokens: 100,
    }),
  ])
  const [said] = [content].flat()
  return `${name} heard: ${said?.type === 'text' ? said.text : 'nothing'}`
})
// #endregion both

await listenAsInstance(server)
