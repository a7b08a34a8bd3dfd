/** Tools that let the client keep something for this server. */
import type { Server } from 'pannier/server'
import { z } from 'zod'

const scope = z.enum(['session', 'server'])
const name = z.string()

export function offerStates(server: Server): void {
  server.tool(
    'remember',
    { description: 'Sets state.', input: z.object({ scope, name, value: z.unknown() }) },
    (args, ctx) => (ctx.state[args.scope].set(args.name, args.value) ? 'kept' : 'not kept'),
  )
  server.tool('recall', { description: 'Reads state.', input: z.object({ scope, name }) }, (args, ctx) => {
    const value = ctx.state[args.scope].get(args.name)
    return value === undefined ? 'nothing' : JSON.stringify(value)
  })
  server.tool('forget', { description: 'Deletes state.', input: z.object({ scope, name }) }, (args, ctx) =>
    ctx.state[args.scope].delete(args.name) ? 'deleted' : 'not kept',
  )
  server.tool('read_back', { description: 'Sets, reads, deletes and reads state.' }, (_, { state }) => {
    state.session.set('step', { at: 1 })
    const set = state.session.get('step')
    state.session.delete('step')
    return JSON.stringify([set, state.session.get('step') ?? null])
  })
  server.tool('ask_with_state', { description: 'Sets state and asks.' }, async (_, ctx) => {
    ctx.state.session.set('asked', true)
    const { colour } = await ctx.ask('colour', {
      message: 'Which colour?',
      schema: z.object({ colour: z.string() }),
    })
    ctx.state.server.set('colour', colour)
    return `You like ${colour}.`
  })
  server.tool('visits', { description: 'Counts the visits of a client, from 1 when it forgot.' }, (_, { state }) => {
    const before = state.server.get('visits')
    const visits = (typeof before === 'number' ? before : 0) + 1
    state.server.set('visits', visits)
    return `visit ${visits}`
  })
}
