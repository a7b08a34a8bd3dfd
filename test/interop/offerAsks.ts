/** Tools that ask: the work-item flow of the seeds, one of each kind of question, and questions at the wrong time. */
import type { Context, Form, Server } from 'pannier/server'
import { ScopeClosed } from 'pannier/server'
import { z } from 'zod'

const resolutionForm = {
  message: 'Resolving Bug #4522 requires a resolution. How was this bug resolved?',
  schema: z.object({
    resolution: z
      .enum(['Fixed', "Won't Fix", 'Duplicate', 'By Design'])
      .meta({ description: 'Resolution type for this bug' }),
  }),
}
const duplicateForm = {
  message: 'Since this is a duplicate, which work item is the original?',
  schema: z.object({ duplicateOfId: z.number().meta({ description: 'Work item ID of the original bug' }) }),
}
const nameForm: Form<z.ZodObject<{ name: z.ZodString }>> = {
  message: 'Who is there?',
  schema: z.object({ name: z.string() }),
}

export function offerAsks(server: Server): void {
  offerWorkItems(server)
  server.tool('greet', { description: 'Asks who is there.' }, async (_, ctx) => {
    const { name } = await ctx.ask('name', nameForm)
    return `Hello ${name}`
  })
  server.tool('greet_two', { description: 'Asks two things at once.' }, async (_, ctx) => {
    const { first, second } = await ctx.ask({ first: nameForm, second: { ...nameForm, message: 'And who else?' } })
    return `Hello ${first.name} and ${second.name}`
  })
  server.tool('sum_up', { description: 'Lets the model write.' }, async (_, ctx) => {
    const { content } = await ctx.sample('words', {
      messages: [{ role: 'user', content: { type: 'text', text: 'Sum up.' } }],
      maxTokens: 100,
    })
    return `The model wrote: ${JSON.stringify(content)}`
  })
  server.tool('folders', { description: 'Asks for the roots.' }, async (_, ctx) => {
    const roots = await ctx.roots('folders')
    return roots.map(({ uri }) => uri).join(' ')
  })
  server.tool('sign_in', { description: 'Sends the person to a page.' }, async (_, ctx) => {
    await ctx.visit('login', 'https://login.example.com/start', 'Sign in first.')
    return 'signed in'
  })
  server.prompt('letter', { description: 'Asks for the name in a letter.' }, async (_, ctx) => {
    const { name } = await ctx.ask('name', nameForm)
    return `Write to ${name}.`
  })
  server.resource('docs://diary', { name: 'diary' }, async (_, ctx) => {
    const { name } = await ctx.ask('name', nameForm)
    return `The diary of ${name}.`
  })
  offerLateAsks(server)
}

/** The two custom rules of the work-item example. `links` counts what must happen once. */
function offerWorkItems(server: Server): void {
  let links = 0
  server.tool(
    'update_work_item',
    {
      description: 'Changes a work item.',
      input: z.object({ workItemId: z.number(), fields: z.record(z.string(), z.unknown()) }),
    },
    async ({ workItemId }, ctx) => {
      const { resolution } = await ctx.ask('resolution', resolutionForm)
      if (resolution !== 'Duplicate') return `Bug #${workItemId} resolved as ${resolution}.`
      const { duplicateOfId } = await ctx.ask('duplicate_of', duplicateForm)
      await ctx.step('link', () => ++links)
      return `Bug #${workItemId} resolved as Duplicate of Bug #${duplicateOfId}. State set to Resolved and duplicate link created.`
    },
  )
  server.tool('links', { description: 'How many links were made.' }, () => `${links} links`)
}

/** A context kept beyond its request, and what comes of using it. */
function offerLateAsks(server: Server): void {
  let kept: Context | undefined
  server.tool('keep', { description: 'Keeps its context for later, after a question.' }, async (_, ctx) => {
    kept = ctx
    await ctx.ask('name', nameForm)
    return 'kept'
  })
  server.tool('ask_late', { description: 'Asks with a kept context, from a timer.' }, async () => {
    const late = (ask: (ctx: Context) => Promise<unknown>): Promise<string> =>
      new Promise((resolve) => {
        setTimeout(() => {
          const asking = kept === undefined ? Promise.reject(new Error('nothing kept')) : ask(kept)
          asking.then(
            () => resolve('answered'),
            (error: unknown) => resolve(error instanceof ScopeClosed ? error.code : String(error)),
          )
        })
      })
    const outcomes = [
      await late((ctx) => ctx.ask('name', nameForm)),
      await late((ctx) => ctx.ask('another', nameForm)),
      await late((ctx) => ctx.sample('words', { messages: [], maxTokens: 1 })),
      await late((ctx) => ctx.roots('folders')),
      await late((ctx) => ctx.visit('login', 'https://login.example.com/', 'Sign in.')),
    ]
    return outcomes.join(' ')
  })
  server.tool('ask_and_leave', { description: 'Does not wait for its own question.' }, async (_, ctx) => {
    void ctx.ask('name', nameForm)
    await new Promise((resolve) => setImmediate(resolve))
    return 'left'
  })
}
