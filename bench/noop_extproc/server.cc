/*
 * An external processor that changes nothing: what Envoy's filter costs by itself, for `semroute bench
 * extproc`.
 *
 * Answers every message with an empty reply of its kind; FULL_DUPLEX_STREAMED bodies, which Envoy has given
 * away, are given back as they came. Asynchronous gRPC with one completion queue and thread for each core.
 * Usage: noop_extproc PORT. Ends by SIGTERM.
 */
#include "ext_proc.grpc.pb.h"

#include <grpcpp/grpcpp.h>
#include <sched.h>

#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace ext_proc = envoy::service::ext_proc::v3;

namespace
{

int usable_cores()
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* One stream of one HTTP request, which asks for the next as soon as it was taken. Its events come one after
 * the other, on its queue's thread. Frees itself. */
class Stream
{
  public:
    Stream(ext_proc::ExternalProcessor::AsyncService *service, grpc::ServerCompletionQueue *queue)
        : service_(service), queue_(queue), stream_(&context_)
    {
        service_->RequestProcess(&context_, &stream_, queue_, queue_, this);
    }

    void on_event(bool ok)
    {
        switch (state_) {
        case State::OPENING:
            if (!ok) {
                delete this;
                return;
            }
            new Stream(service_, queue_);
            read();
            break;
        case State::READING:
            if (ok)
                answer();
            else
                finish();
            break;
        case State::WRITING:
            if (ok)
                read();
            else
                finish();
            break;
        case State::ENDING:
            delete this;
            break;
        }
    }

  private:
    enum class State { OPENING, READING, WRITING, ENDING };

    void read()
    {
        state_ = State::READING;
        stream_.Read(&message_, this);
    }

    void finish()
    {
        state_ = State::ENDING;
        stream_.Finish(grpc::Status::OK, this);
    }

    static void give_back(ext_proc::HttpBody *body, ext_proc::BodyResponse *reply)
    {
        auto *piece = reply->mutable_response()->mutable_body_mutation()->mutable_streamed_response();
        piece->mutable_body()->swap(*body->mutable_body());
        piece->set_end_of_stream(body->end_of_stream());
    }

    void answer()
    {
        reply_.Clear();
        if (message_.has_protocol_config())
            duplex_ = message_.protocol_config().request_body_mode() == ext_proc::FULL_DUPLEX_STREAMED;
        switch (message_.request_case()) {
        case ext_proc::ProcessingRequest::kRequestHeaders:
            reply_.mutable_request_headers();
            break;
        case ext_proc::ProcessingRequest::kRequestBody:
            reply_.mutable_request_body();
            if (duplex_)
                give_back(message_.mutable_request_body(), reply_.mutable_request_body());
            break;
        case ext_proc::ProcessingRequest::kRequestTrailers:
            reply_.mutable_request_trailers();
            break;
        case ext_proc::ProcessingRequest::kResponseHeaders:
            reply_.mutable_response_headers();
            break;
        case ext_proc::ProcessingRequest::kResponseBody:
            reply_.mutable_response_body();
            break;
        case ext_proc::ProcessingRequest::kResponseTrailers:
            reply_.mutable_response_trailers();
            break;
        default:
            finish();
            return;
        }
        state_ = State::WRITING;
        stream_.Write(reply_, this);
    }

    ext_proc::ExternalProcessor::AsyncService *service_;
    grpc::ServerCompletionQueue *queue_;
    grpc::ServerContext context_;
    grpc::ServerAsyncReaderWriter<ext_proc::ProcessingResponse, ext_proc::ProcessingRequest> stream_;
    ext_proc::ProcessingRequest message_;
    ext_proc::ProcessingResponse reply_;
    State state_ = State::OPENING;
    bool duplex_ = false;
};

void serve(grpc::ServerCompletionQueue *queue)
{
    void *tag;
    bool ok;
    while (queue->Next(&tag, &ok))
        static_cast<Stream *>(tag)->on_event(ok);
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: noop_extproc PORT\n");
        return 2;
    }
    ext_proc::ExternalProcessor::AsyncService service;
    grpc::ServerBuilder builder;
    builder.AddListeningPort(std::string("127.0.0.1:") + argv[1], grpc::InsecureServerCredentials());
    builder.RegisterService(&service);
    builder.SetMaxReceiveMessageSize(64 << 20);
    std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues;
    for (int i = 0; i < usable_cores(); i++)
        queues.push_back(builder.AddCompletionQueue());
    std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
    if (!server) {
        fprintf(stderr, "noop_extproc: port %s cannot be used\n", argv[1]);
        return 3;
    }
    std::vector<std::thread> threads;
    for (auto &queue : queues) {
        new Stream(&service, queue.get());
        threads.emplace_back(serve, queue.get());
    }
    for (auto &thread : threads)
        thread.join();
    return 0;
}
