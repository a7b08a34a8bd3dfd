/** The words in which tools speak of something that is kept. Names are in lower case, with single spaces. */

export const PAIRS: readonly (readonly [RegExp, RegExp])[] = [
  [/^(.* )?(open|launch)( .*)?$/, /^(.* )?close( .*)?$/],
  [/^(.* )?(start|run)( .*)?$/, /^(.* )?(stop|end)( .*)?$/],
  [/^(.* )?connect( .*)?$/, /^(.* )?disconnect( .*)?$/],
  [
    /^(.* )?(create|new|begin|start|open|spawn)( .*)? (session|sessions|terminal|shell|tab|page|browser|context|connection|process)( .*)?$/,
    /^(.* )?(close|end|destroy|delete|kill|stop|terminate|remove)( .*)?$/,
  ],
  [/^(.* )?unlock( .*)?$/, /^(.* )?lock( .*)?$/],
  [/^(.* )?attach( .*)?$/, /^(.* )?detach( .*)?$/],
  [/^(.* )?begin( .*)?$/, /^(.* )?(commit|rollback)( .*)?$/],
]
export const SESSION_PARAMETER =
  /^(session|process|terminal|connection|context|browser|tab|window|instance|shell|pty|handle|debug|conversation|transport)[ _-]?(id|name|handle|index)$|^(pid|handle|session|uid|ref|tabid|pageidx)$/i
export const PAGE_ACTION =
  /\b(navigate|click|screenshot|hover|scroll|type text|press key|fill|tap|swipe|goto|keyboard|mouse)\b/
export const SETTER =
  /^(.* )?(set|select|switch|use|change|activate|choose|cd)( to)? (.* )?(default|current|active|working|directory|dir|cwd|workspace|project|account|database|db|context|profile|tab|device|board|window|root|team|organization|org|environment|target|mode|model|language|config|credentials|token)( .*)?$|^(.* )?cd$/
export const CURRENT =
  /\b(current(ly)?|active|opened|loaded|selected|focused|attached|connected|inspected|running) (web ?)?(page|tab|window|browser|document|session|conversation|project|workspace|directory|connection|database|device|board|game|frame|buffer|process|simulator|emulator|editor|scene|working directory|chat|canvas|drawing|notebook|kernel|debugger)s?\b/i
export const CALL_FIRST =
  /\b(must|should|need(s)? to|has to|have to|required to|always) (be )?(call(ed)?|run|invoke(d)?|use(d)?|connect(ed)?|start(ed)?|launch(ed)?|open(ed)?|initiali[sz]e(d)?)\b[^.]{0,80}\b(first|before|prior)\b|\bbefore (using|calling|any) (any )?(other|the other|of the)\b|\b(call|use|run) this (tool )?(first|before)\b/i
export const BACKGROUND =
  /\b(background|long[- ]running|interactive|persistent) (process|processes|command|commands|job|jobs|shell|session|sessions|server|terminal|repl)\b|\b(was|were|previously|already) (started|launched|opened|spawned)\b|\bstarted (with|by|via) (the )?\S+ tool\b|\breturned by (the )?\S*(start|open|launch|connect|spawn|attach)/i
export const BEGINS =
  /\b(init|initialize|launch|start|open|new|create|spawn|boot)\b.*\b(browser|session|terminal|shell|tab|emulator|simulator|debugger|debugging|game|repl|kernel|recording|codegen|devserver|process|tunnel|conversation|connection)\b/
export const LIVE =
  /\b(list|get|show)\b.*\b(sessions|connections|processes|conversations|tabs|windows|terminals|tunnels|breakpoints|contexts|console logs|console messages|network requests)\b|\b(sessions|tabs|processes|connections|session|tab|process|tunnel|terminal) (list|select|new|close|switch|kill|send|read|status)\b/
export const CONNECT =
  /^(.* )?(re)?(connect|attach)( (to )?(db|database|server|device|host|client|mongodb|mysql|postgres|redis|.* (db|database|server|device|host|tab|browser|process|project)))?$/
export const IN_PROCESS =
  /\bin[- ]memory\b|\bprocess memory\b|\bin this (mcp )?(process|session)\b|\b(for|during|in|of) (the|this) (current )?session\b|\b(so far|since (the )?(server|process) (start|was started))\b|\bback to zero\b|\bsubsequent (calls|requests|commands|operations|tool calls)\b|\b(later|following|future) (calls|tool calls)\b/i
export const THOUGHT = /^next_?thought_?needed$|^thought_?number$/i
