/** SEP-2322's weather tool, which wants to know the caller's GitHub name first. */
import { createServer } from 'pannier/server'
import { z } from 'zod'
import { listenAsInstance } from './listen.ts'

const server = createServer({ name: 'weather', version: '1.0.0', title: `Instance ${process.env['INSTANCE']}` })
const about = { description: 'Tells the weather.', input: z.object({ location: z.string() }) }
const login = z.object({ name: z.string() })

// The SEP shows both: a first answer with a state, which is ours by default, and one without.
for (const [name, pin] of [
  ['get_weather', true],
  ['get_weather_without_state', false],
] as const) {
  server.tool(name, about, async ({ location }, ctx) => {
    await ctx.ask('github_login', {
      mode: 'form',
      message: 'Please provide your GitHub username',
      schema: login,
      pin,
    })
    const text = `Current weather in ${location}:\nTemperature: 72°F\nConditions: Partly cloudy`
    return { content: [{ type: 'text', text }], isError: false }
  })
}

await listenAsInstance(server)
