/** The code of docs/how-to/client-state.md. */
// #region imports
import { createServer, failure } from 'pannier/server'
import { createKeyring, createSealer, newKey, StateError } from 'pannier/state'
import { z } from 'zod'

export const server = createServer({ name: 'notes', version: '1.0.0' })
// #endregion imports

// #region preference
const theme = z.enum(['light', 'dark'])

server.tool('set_theme', { description: 'Sets the theme.', input: z.object({ theme }) }, ({ theme }, ctx) => {
  const kept = ctx.state.server.set('theme', theme)
  return kept ? `The theme is ${theme}.` : 'Your client keeps no state, so the theme stays light.'
})

server.tool('show_theme', { description: 'Shows the theme.' }, (_, ctx) => {
  // It comes from the client: check it like any other input, and handle a missing value.
  const { data = 'light' } = theme.safeParse(ctx.state.server.get('theme'))
  return `The theme is ${data}.`
})

server.tool('reset_theme', { description: 'Forgets the theme.' }, (_, ctx) => {
  ctx.state.server.delete('theme')
  return 'The theme is light again.'
})
// #endregion preference

// #region lists
server.onResult('tools/list', ({ state }) => {
  const { data: seen = 0 } = z.number().safeParse(state.server.get('seen'))
  state.server.set('seen', seen + 1)
})

const note = z.object({ tag: z.string() })
server.prompt('note', { description: 'Starts a note.', input: note }, ({ tag }) => `Write a note about ${tag}.`)

server.completion({ prompt: 'note', argument: 'tag' }, (typed, _, { state }) => {
  const { data: tags = ['work', 'home'] } = z.array(z.string()).safeParse(state.server.get('tags'))
  return tags.filter((tag) => tag.startsWith(typed))
})
// #endregion lists

// #region rounds
server.tool('count', { description: 'Counts its calls.' }, async (_, ctx) => {
  const { agree } = await ctx.ask('agree', { message: 'Count?', schema: z.object({ agree: z.boolean() }) })
  if (!agree) return 'Not counted.'
  // After the last question: lines before it run in each round, and would count each round.
  const { data: before = 0 } = z.number().safeParse(ctx.state.session.get('count'))
  ctx.state.session.set('count', before + 1)
  return `Counted ${before + 1}.`
})
// #endregion rounds

// #region sealed
const sealer = createSealer({
  keyring: createKeyring(process.env['PANNIER_KEYS'] ?? newKey()),
  audience: 'notes/tier', // not the server's name, so that none of this opens as a request state
  ttlSeconds: 30 * 86_400,
})

server.tool('redeem', { description: 'Redeems a code.', input: z.object({ code: z.string() }) }, ({ code }, ctx) => {
  if (code !== 'GOLD-2026') return failure('That code is not known.')
  const owner = { principal: ctx.principal?.id }
  ctx.state.server.set('tier', sealer.seal('request', owner, { id: 'tier', body: 'gold' }))
  return 'You are a gold member for 30 days.'
})

server.tool('price', { description: 'Tells the price.' }, (_, ctx) => {
  const tier = openTier(ctx.state.server.get('tier'), { principal: ctx.principal?.id })
  return tier === 'gold' ? 'The price is 8.' : 'The price is 10.'
})

function openTier(token: unknown, owner: { principal: string | undefined }): unknown {
  if (typeof token !== 'string') return undefined
  try {
    return sealer.open('request', owner, token).body
  } catch (error) {
    if (error instanceof StateError) return undefined // expired, changed, or sealed for somebody else
    throw error
  }
}
// #endregion sealed
