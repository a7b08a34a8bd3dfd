/** The tools of docs/how-to/asking.md. */
// #region imports
import { createServer, Declined, failure, inputRequired } from 'pannier/server'
import { z } from 'zod'

export const server = createServer({ name: 'asking', version: '1.0.0' })

const agreeForm = { message: 'Remove all drafts?', schema: z.object({ agree: z.boolean() }) }
// #endregion imports

// #region ask
const restaurant = z.object({ restaurant: z.string() })
server.tool('book_table', { description: 'Books a table.', input: restaurant }, async ({ restaurant }, ctx) => {
  const { guests, outside } = await ctx.ask('party', {
    message: `How many people will come to ${restaurant}?`,
    schema: z.object({ guests: z.number().int().min(1).max(12), outside: z.boolean() }),
  })
  return `A table for ${guests}, ${outside ? 'outside' : 'inside'}, at ${restaurant}.`
})
// #endregion ask

// #region several
const sizeForm = { message: 'Which size?', schema: z.object({ size: z.enum(['S', 'M', 'L']) }) }
const colourForm = { message: 'Which colour?', schema: z.object({ colour: z.string() }) }

server.tool('order_shirt', { description: 'Orders a shirt.' }, async (_, ctx) => {
  const { size, colour } = await ctx.ask({ size: sizeForm, colour: colourForm })
  return `A shirt in ${size.size}, ${colour.colour}.`
})
// #endregion several

// #region together
server.tool('order_shirts', { description: 'Orders two shirts.' }, async (_, ctx) => {
  const [first, second] = await Promise.all([ctx.ask('first', sizeForm), ctx.ask('second', sizeForm)])
  return `Two shirts, ${first.size} and ${second.size}.`
})
// #endregion together

// #region declined
server.tool('clean_up', { description: 'Removes drafts.' }, async (_, ctx) => {
  try {
    const { agree } = await ctx.ask('agree', agreeForm)
    return agree ? 'The drafts are gone.' : 'The drafts stay.'
  } catch (error) {
    if (!(error instanceof Declined)) throw error
    return failure(`Nothing was removed: the question was answered with ${error.action}.`)
  }
})
// #endregion declined

// #region elicit
server.tool('clean_up_or_not', { description: 'Removes drafts.' }, async (_, ctx) => {
  const answer = await ctx.elicit('agree', agreeForm)
  switch (answer.action) {
    case 'accept':
      return answer.content.agree ? 'The drafts are gone.' : 'The drafts stay.'
    case 'decline':
      return 'The drafts stay, and we do not ask again.'
    case 'cancel':
      return 'The drafts stay for now.'
  }
})
// #endregion elicit

// #region visit
const paid = new Set<string>()
export const payments = { page: (order: string) => `https://pay.example.com/${order}`, paid }

const order = z.object({ order: z.string() })
server.tool('pay', { description: 'Has an order paid.', input: order }, async ({ order }, ctx) => {
  await ctx.visit('payment', payments.page(order), 'Please pay on this page, then come back.')
  // "accept" says only that the person agreed to open the page. What they did there is known to the page.
  return payments.paid.has(order) ? `The order ${order} is paid.` : `The order ${order} is not paid yet.`
})
// #endregion visit

// #region sample
const article = z.object({ article: z.string() })
server.tool('headline', { description: 'Finds a headline.', input: article }, async ({ article }, ctx) => {
  if (!ctx.can('sampling')) return article.slice(0, 40)
  const { content } = await ctx.sample('headline', {
    messages: [{ role: 'user', content: { type: 'text', text: `Write a headline for: ${article}` } }],
    maxTokens: 50,
  })
  return content.type === 'text' ? content.text : failure('The model wrote no text.')
})
// #endregion sample

// #region roots
server.tool('folders', { description: 'Lists the folders the client works in.' }, async (_, ctx) => {
  const roots = await ctx.roots('folders')
  return roots.map(({ uri }) => uri).join('\n')
})
// #endregion roots

// #region pin
server.tool('greet', { description: 'Greets a person.' }, async (_, ctx) => {
  const { name } = await ctx.ask('name', {
    message: 'What is your name?',
    schema: z.object({ name: z.string() }),
    pin: false,
  })
  return `Hello, ${name}!`
})
// #endregion pin

// #region keys
const files = z.object({ files: z.array(z.string()) })
server.tool('remove_files', { description: 'Removes files.', input: files }, async ({ files }, ctx) => {
  const removed: string[] = []
  for (const file of files) {
    const { agree } = await ctx.ask(`remove ${file}`, {
      message: `Remove ${file}?`,
      schema: z.object({ agree: z.boolean() }),
    })
    if (agree) removed.push(file)
  }
  return `Removed: ${removed.join(', ') || 'nothing'}.`
})
// #endregion keys

// #region explicit
const memory = z.object({ city: z.string() })
const cityForm = { message: 'Which city?', schema: z.object({ city: z.string() }) }
const dayForm = { message: 'Which day?', schema: z.object({ day: z.string() }) }
const accepted = <S extends z.ZodType>(content: S) => z.object({ action: z.literal('accept'), content })

server.tool('weather', { description: 'Tells the weather.' }, async (_, ctx) => {
  const known = memory.safeParse(ctx.requestState)
  if (!known.success) {
    const answer = accepted(cityForm.schema).safeParse(ctx.inputResponses['city'])
    if (!answer.success) return inputRequired({ inputRequests: { city: cityForm } })
    return inputRequired({ inputRequests: { day: dayForm }, requestState: { city: answer.data.content.city } })
  }
  const answer = accepted(dayForm.schema).safeParse(ctx.inputResponses['day'])
  if (!answer.success) return inputRequired({ inputRequests: { day: dayForm }, requestState: known.data })
  return `The weather in ${known.data.city} on ${answer.data.content.day}: fine.`
})
// #endregion explicit

// #region finally
export const locks = { held: 0 }

server.tool('with_lock', { description: 'Asks while it holds a lock.' }, async (_, ctx) => {
  locks.held++
  try {
    const { agree } = await ctx.ask('agree', agreeForm)
    return agree ? 'Done.' : 'Not done.'
  } finally {
    locks.held-- // runs when the round ends, before the question goes out
  }
})
// #endregion finally

// #region elsewhere
server.prompt('letter', { description: 'Starts a letter.' }, async (_, ctx) => {
  const { name } = await ctx.ask('name', { message: 'To whom?', schema: z.object({ name: z.string() }) })
  return `Write a friendly letter to ${name}.`
})

server.resource('diary://today', { name: 'today' }, async (_, ctx) => {
  const { part } = await ctx.ask('part', { message: 'Which part?', schema: z.object({ part: z.enum(['am', 'pm']) }) })
  return part === 'am' ? 'Rain.' : 'Sun.'
})
// #endregion elsewhere
