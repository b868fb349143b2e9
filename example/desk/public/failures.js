/** Tells a person what did not work, and what to do about it. */
import { ExchangeRefused } from './exchange.js'
import { alertPerson } from './messages.js'
import { ServiceError } from './send.js'
import { SignInOver } from './session.js'
import * as oauth from './vendor/oauth4webapi.js'

export const isSignInOver = (error) =>
  error instanceof SignInOver || (error.service === 'backend' && error.status === 401)

let forgetEverything

/** `listener` is called where the sign-in turns out to be over. */
export const onSignInOver = (listener) => {
  forgetEverything = listener
}

/** Runs an action that may fail, and tells the person if it does. */
export async function attempt(action) {
  try {
    await action()
  } catch (error) {
    if (isSignInOver(error)) forgetEverything()
    else alertPerson(explain(error))
  }
}

export function explain(error) {
  if (error instanceof ServiceError) return error.service === 'backend' ? ofBackend(error) : ofApi(error)
  if (error instanceof ExchangeRefused) return ofExchange(error)
  if (error instanceof oauth.AuthorizationResponseError) return ofSignIn(error)
  if (error instanceof TypeError) return 'No response. Check the connection and try again.'
  return `This did not work: ${error.message}.`
}

function ofSignIn({ error, message }) {
  if (error === 'access_denied') return 'You are not signed in: the sign-in was cancelled.'
  // It was asked for without a page of the provider.
  if (/_required$/.test(error)) return 'You are no longer signed in.'
  return `This did not work: ${message}.`
}

function ofBackend({ status, message }) {
  // This is a decision: trying again changes nothing.
  if ([403, 404].includes(status)) return `Refused. ${message}`
  if (status < 500) return `The backend did not accept this: ${message}.`
  return `The backend could not do this: ${message}. Try again in a moment.`
}

/** An API that cannot verify the token says so: the token may be good. */
function ofApi({ status, message }) {
  if (status < 500) return `The orders API refused the access token: ${message}.`
  return `The orders API could not do this: ${message}. Try again in a moment.`
}

/** One text covers everything that can be wrong with a token, so a thief who tries one learns nothing. */
function ofExchange({ code, message }) {
  const refused = `The identity provider refused the exchange: ${message}. Nothing is being viewed.`
  if (code !== 'invalid_request') return refused
  return `${refused} The reason is recorded in the operator's log only: the token may have been used before, stopped, or may have expired. Start again to get a new one.`
}
